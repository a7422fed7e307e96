/*
 * How the result of a write is kept under its idempotency key: JSON, with `{"int64": "5"}` for a bigint. No result has
 * such a field.
 */

export function writeResult(result: unknown): string {
  return JSON.stringify(result, (_, value) => (typeof value === "bigint" ? { int64: String(value) } : value));
}

export function parseResult<T>(json: string): T {
  return JSON.parse(json, (_, value) => (typeof value?.int64 === "string" ? BigInt(value.int64) : value)) as T;
}
