/** What is shown in place of a secret. */
export const mask = "********";

/** What stands between two slashes and an `@`. The `file:` addresses of stack traces hold no name and no password. */
const credentials = /(?<=\/\/)(?<!file:\/+).*@/g;

/** A text in which the name and the password of an address are masked, be it well-formed or not. */
export function maskCredentials(text: string): string {
  return text.replaceAll(credentials, `${mask}@`);
}
