import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallOptions, Outcome } from "../support/clients/client.ts";
import { type Protocol, protocols } from "../support/clients/protocols.ts";
import { expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { samples } from "../support/operations.ts";
import { interceptedBy } from "../support/petstore.ts";
import { startServerWith, type TestServer } from "../support/server.ts";

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServerWith(interceptedBy("foreign"));
  ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
});

afterAll(() => server?.stop());

function getPet(protocol: Protocol, headers: CallOptions["headers"] = {}, options: CallOptions = { key }) {
  return server.call(protocol, "getPet", { petId: 7n }, { ...options, headers });
}

/** What comes of a call for pet 7: the pet, and what the next interceptor has seen. */
interface Expected {
  readonly pet?: bigint;
  readonly sees?: string;
  readonly header?: string;
}

const kinds: readonly [kind: string, expected: Expected][] = [
  ["passes on a copy", {}],
  ["passes on another message", { pet: 8n }],
  ["changes the message in place", { pet: 8n }],
  ["passes on another header", { sees: "header" }],
  ["changes the header in place", { sees: "header" }],
  ["passes on another signal", { sees: "signal" }],
  ["passes on a context value", { sees: "value" }],
  ["passes on other context values", { sees: "value" }],
  ["passes on another URL", { sees: "url" }],
  ["passes on a request made by hand", { pet: 8n, sees: "header,signal,value,url" }],
  ["gives back another message", { pet: 99n }],
  ["gives back other headers", { header: "header" }],
  ["changes the headers in place", { header: "header" }],
  ["calls twice", {}],
];

describe.each(protocols)("over $name, an interceptor", (protocol) => {
  it.each(kinds)("that %s has its way", async (kind, { pet = 7n, sees = "", header }) => {
    const outcome = await getPet(protocol, { "x-interceptor": kind, "x-interceptor-at": "message" });
    expect(expectSuccess(outcome).pet?.id).toBe(pet);
    expect(outcome.headers.get("x-sees")).toBe(sees);
    expect(outcome.headers.get("x-given") ?? undefined).toBe(header);
    expectHeaders(outcome);
  });

  it.each(kinds)("that %s before the message is read has its way", async (kind, { pet = 7n, sees = "", header }) => {
    const outcome = await getPet(protocol, { "x-interceptor": kind, "x-interceptor-at": "call" }, { key });
    expect(expectSuccess(outcome).pet?.id).toBe(pet);
    expect(outcome.headers.get("x-sees")).toBe(sees);
    expect(outcome.headers.get("x-given") ?? undefined).toBe(header);
    expectHeaders(outcome);
  });

  it("that answers by itself is believed", async () => {
    const outcome = await getPet(protocol, { "x-interceptor": "answers by itself", "x-interceptor-at": "message" });
    expect(expectSuccess(outcome).pet?.id).toBe(99n);
    expectHeaders(outcome);
  });

  it.each(["throws synchronously", "rejects"])("that %s has the call fail in good order", async (kind) => {
    const outcome = await getPet(protocol, { "x-interceptor": kind, "x-interceptor-at": "message" });
    expectFailure(outcome, "UNAVAILABLE");
    expectHeaders(outcome);
  });

  it("that puts the key into the header has it let in", async () => {
    expectSuccess(await getPet(protocol, { "x-company-key": key }, {}));
    expectFailure(await getPet(protocol, { "x-company-key": "none" }, {}), "API_KEY_INVALID");
  });
});

describe("interceptors that copy every request and response", () => {
  let copied: TestServer;
  let copiedKey: string;

  beforeAll(async () => {
    copied = await startServerWith(interceptedBy("cloning"));
    ({ key: copiedKey } = await copied.store.mintQuota(1_000_000, 1_000_000));
  });

  afterAll(() => copied?.stop());

  it.each(protocols)("change nothing over $name", async (protocol) => {
    for (const { operation, input } of samples) {
      const [plain, copy] = await Promise.all([
        server.call(protocol, operation, input, { key }),
        copied.call(protocol, operation, input, { key: copiedKey }),
      ]);
      expect(namesOf(copy)).toEqual(namesOf(plain).filter((name) => name !== "x-sees"));
      if (["getPet", "listOrders", "getAvailability"].includes(operation)) {
        expect(expectSuccess(copy)).toEqual(expectSuccess(plain));
      }
      expect([operation, shapeOf(expectSuccess(copy))]).toEqual([operation, shapeOf(expectSuccess(plain))]);
    }
    expectFailure(await copied.call(protocol, "getPet", { petId: 404n }, { key: copiedKey }), "PET_NOT_FOUND");
    expectFailure(await copied.call(protocol, "getPet", { petId: 7n }), "API_KEY_MISSING");
  });
});

/** A message with the kinds of its values, since two servers differ in ids, versions and times. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.slice(0, 1).map(shapeOf);
  }
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, child]) => [name, shapeOf(child)]))
    : typeof value;
}

function namesOf({ headers }: Outcome): string[] {
  return [...headers.keys()].sort();
}

/** Whatever interceptors do, the headers of the service stand on the answer, each once. */
function expectHeaders({ headers }: Outcome): void {
  expectLimits(headers);
  expect(headers.get("deprecation")).toMatch(/^@\d+$/);
}
