import { expect, it } from "vitest";
import { toDate } from "../../client/src/index.ts";

it.each([
  [{ seconds: 0n, nanos: 0 }, "1970-01-01T00:00:00.000Z"],
  [{ seconds: 1_767_225_660n, nanos: 123_999_999 }, "2026-01-01T00:01:00.123Z"],
  [{ seconds: -1n, nanos: 999_000_000 }, "1969-12-31T23:59:59.999Z"],
])("the timestamp %o is %s", (timestamp, expected) => {
  expect(toDate(timestamp).toISOString()).toBe(expected);
});
