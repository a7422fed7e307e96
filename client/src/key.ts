/** An API key, or a function that returns it, called before each attempt: for rotated keys, or keys in a vault. */
export type ApiKey = string | (() => string | Promise<string>);
