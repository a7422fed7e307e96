/** What a name must be, as part of a message: `It must be …`. */
export const keyNameForm = "100 characters at most, with no line break or other control character";

const maxCharacters = 100;

/** Reads the name of a new key, which may be empty. Undefined when it is too long, or is none to show on one line. */
export function parseKeyName(text: string): string | undefined {
  const isName = Array.from(text).length <= maxCharacters && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  return isName ? text : undefined;
}
