/** What is shown in place of a secret. */
export const mask = "********";

/** The text between `//` and `@`. The `file:` URLs of stack traces hold no name and no password. */
const credentials = /(?<=\/\/)(?<!file:\/+).*@/g;

/** The same of URLs of stores whose slashes are missing: `postgres:me:secret@host`. */
const credentialsWithoutSlashes = /(?<=\b(?:postgres(?:ql)?|rediss?|valkeys?):\/?)(?!\/).*@/gi;

/** The values of parameters such as `password` and `sslpassword`, however their names are encoded. */
const parameters = /(?<=[?&][^=&\s]*(?:password|%)[^=&\s]*=)[^&#\s'"]*/gi;

/** A text in which the names and passwords of URLs are masked, whether or not the URLs are well-formed. */
export function maskCredentials(text: string): string {
  return text
    .replaceAll(credentials, `${mask}@`)
    .replaceAll(credentialsWithoutSlashes, `${mask}@`)
    .replaceAll(parameters, mask);
}
