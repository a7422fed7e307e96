/** What is shown in place of a secret. */
export const mask = "********";

/** A text in which the name and the password of an address are masked, be it well-formed or not. */
export function maskCredentials(text: string): string {
  return text.replaceAll(/(?<=:\/\/).*@/g, `${mask}@`);
}
