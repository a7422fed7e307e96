/** Takes a value that was parsed; of a number, string, `true`, `false` or `null` with how it stands in the text. */
export type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/*
 * JSON.parse with source text access: V8 has it, TypeScript's library does not know it yet.
 * Source: https://tc39.es/proposal-json-parse-with-source/
 */

/** `JSON.parse`, whose reviver sees the source text. Throws `SyntaxError`. */
export const parseWithSource = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

/** Makes a value that `JSON.stringify` writes as this text. Throws `SyntaxError` unless it is a JSON primitive. */
export const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
