import { expect } from "vitest";
import { ProtocolError } from "../../../src/http/protocol-error.ts";

/** What a function throws; undefined where it throws nothing. */
export function refusalOf(run: () => unknown): unknown {
  try {
    run();
  } catch (reason) {
    return reason;
  }
  return undefined;
}

/** Expects the error that tells a client that its request cannot be understood. */
export function expectMalformed(reason: unknown): void {
  expect(reason).toBeInstanceOf(ProtocolError);
  expect((reason as ProtocolError).kind).toBe("malformed");
}
