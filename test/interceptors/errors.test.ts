import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { describe, expect, it } from "vitest";
import { errorStatuses } from "../../src/interceptors/errors.ts";
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
