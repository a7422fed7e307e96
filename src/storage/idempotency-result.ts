/**
 * Writes a result as JSON, to be kept under its idempotency key. A bigint becomes `{"int64": "5"}`. No result has a
 * field of this name.
 */
export function writeResult(result: unknown): string {
  return JSON.stringify(result, (_, value) => (typeof value === "bigint" ? { int64: String(value) } : value));
}

/** Reads what `writeResult` has written. */
export function parseResult<T>(json: string): T {
  return JSON.parse(json, (_, value) => (typeof value?.int64 === "string" ? BigInt(value.int64) : value)) as T;
}
