import { create, type DescMessage, type DescMethodUnary } from "@bufbuild/protobuf";
import { type ConnectError, createMethodImplSpec } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { PetService } from "../../gen/petstore/v1/pet_service_pb.ts";
import { petNotFound, rateLimitExceeded } from "../../src/domain/errors.ts";
import type { Key } from "../../src/domain/key.ts";
import { CallRecord, type Exchange } from "../../src/http/exchange.ts";
import { callerKey } from "../../src/interceptors/auth.ts";
import { deprecationInterceptor, sunsetInterceptor } from "../../src/interceptors/deprecation.ts";
import { errorCodeOf, toConnectError } from "../../src/interceptors/errors.ts";
import { answerCall, type CallInterceptor } from "../../src/rpc/call.ts";
import { createEndpoint } from "../../src/rpc/endpoint.ts";

type Method = typeof PetService.method.getPet | typeof InventoryService.method.listInventory;

/** Calls a method through interceptors; `answer` is what comes after them. */
async function call(
  interceptors: CallInterceptor | readonly CallInterceptor[],
  method: Method,
  answer = async () => ({}),
) {
  const spec = createMethodImplSpec<DescMethodUnary>(method, answer);
  const endpoint = createEndpoint(spec, { callInterceptors: [interceptors].flat(), messageInterceptors: [] });
  let failure: ConnectError | undefined;
  const exchange = { record: new CallRecord(), authority: "localhost" } as Exchange;
  const { header } = await answerCall(
    endpoint,
    {
      exchange,
      protocolName: "none",
      timeoutMs: undefined,
      read: async () => create<DescMessage>(method.input),
      answer: async (_response, header) => ({ status: 200, header }),
      async fail(error, header) {
        failure = error;
        return { status: 500, header };
      },
    },
    toConnectError,
  );
  return { header, code: failure && errorCodeOf(failure) };
}

const { getPet } = PetService.method;
const { listInventory } = InventoryService.method;
const sunsetMs = Date.parse("2027-06-01T00:00:00Z");

describe("a deprecated method", () => {
  const headers = {
    deprecation: `@${Date.parse("2026-06-01T00:00:00Z") / 1_000}`,
    sunset: "Tue, 01 Jun 2027 00:00:00 GMT",
    link: expect.stringMatching(/^<\/docs#.*>; rel="deprecation"/),
  };

  it("says so when it succeeds", async () => {
    const { header } = await call(deprecationInterceptor({ noteDeprecatedCall() {} }), getPet);
    expect(Object.fromEntries(header)).toEqual(headers);
  });

  it("says so when it fails", async () => {
    const { code, header } = await call(deprecationInterceptor({ noteDeprecatedCall() {} }), getPet, () =>
      Promise.reject(petNotFound(7n)),
    );
    expect(code).toBe("PET_NOT_FOUND");
    expect(Object.fromEntries(header)).toEqual(headers);
  });

  it("is noted of a key that is refused at once", async () => {
    const noted: unknown[] = [];
    const refuse: CallInterceptor = {
      wrap: () => async (refused) => {
        refused.contextValues.set(callerKey, { key: { id: "key_1" } as Key, endsAtMs: Infinity });
        throw rateLimitExceeded(9);
      },
    };
    const deprecation = deprecationInterceptor({
      noteDeprecatedCall: (key, method) => noted.push([key.id, method]),
    });
    expect((await call([deprecation, refuse], getPet)).code).toBe("RATE_LIMIT_EXCEEDED");
    expect(noted).toEqual([["key_1", "petstore.v1.PetService/GetPet"]]);
  });

  const moments: [when: string, nowMs: number, method: Method, code: string | undefined][] = [
    ["goes on until its sunset", sunsetMs - 1, getPet, undefined],
    ["ends at its sunset", sunsetMs, getPet, "ENDPOINT_SUNSET"],
    ["leaves others alone", sunsetMs, listInventory, undefined],
  ];

  it.each(moments)("%s, where sunsets are enforced", async (_when, nowMs, method, code) => {
    const outcome = await call(
      sunsetInterceptor(() => nowMs),
      method,
    );
    expect(outcome.code).toBe(code);
  });
});

it("says nothing of a method that is not deprecated", async () => {
  const { header } = await call(deprecationInterceptor({ noteDeprecatedCall() {} }), listInventory);
  expect([...header]).toEqual([]);
});
