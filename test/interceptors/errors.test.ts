import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import { errorStatuses, toConnectError } from "../../src/interceptors/errors.ts";
import { errorCodes } from "../support/error-codes.ts";

describe("the error reasons of the protos", () => {
  it("are the documented codes, each with its HTTP status and its canonical code", () => {
    const expected = Object.entries(errorCodes).map(([code, { http, canonical }]) => [
      code,
      { http, rpc: codeFromString(canonical) },
    ]);
    expect(errorStatuses).toEqual(Object.fromEntries(expected));
  });
});

it("an error's message has no half of a surrogate pair, which no wire format can carry", () => {
  const { rawMessage } = toConnectError(new DomainError("INVALID_REQUEST", "\ud83d is no name, unlike \u{1f415}."));
  expect(rawMessage).toBe("\ufffd is no name, unlike \u{1f415}.");
});
