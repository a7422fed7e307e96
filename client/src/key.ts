/** An API key, or a function that is asked for it before each attempt: for keys that are rotated, or kept in a vault. */
export type ApiKey = string | (() => string | Promise<string>);
