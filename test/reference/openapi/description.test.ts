import { Validator } from "@seriousme/openapi-schema-validator";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseIfMatch } from "../../../src/domain/stock.ts";
import { errorCodes } from "../../support/error-codes.ts";
import { type Json, type Located, OpenApi } from "./openapi.ts";

const openApi = new OpenApi();

describe("the OpenAPI description", () => {
  it("is valid by OpenAPI 3.1", async () => {
    expect(await new Validator().validate(structuredClone(openApi.document))).toEqual({ valid: true });
    expect(openApi.document.openapi).toMatch(/^3\.1\./);
    expect(openApi.document.info.version).toBe("1.0.0");
  });

  it("describes every operation, in the order of the services", () => {
    const operations = [...openApi.operations].map(([route, { value }]) => [
      value.operationId,
      route,
      value["x-rpc"],
      value["x-scope"],
      value["x-stability"],
    ]);
    expect(operations).toEqual([
      ["listInventory", "GET /inventory", "petstore.v1.InventoryService/ListInventory", "inventory:read", "stable"],
      [
        "updateInventory",
        "PATCH /inventory/{petId}",
        "petstore.v1.InventoryService/UpdateInventory",
        "inventory:write",
        "experimental",
      ],
      ["getInventory", "GET /inventory/{petId}", "petstore.v1.InventoryService/GetInventory", "inventory:read", "beta"],
      [
        "getAvailability",
        "GET /inventory/{petId}/availability",
        "petstore.v1.InventoryService/GetAvailability",
        "inventory:read",
        "beta",
      ],
      [
        "adjustInventory",
        "POST /inventory/{petId}:adjust",
        "petstore.v1.InventoryService/AdjustInventory",
        "inventory:write",
        "beta",
      ],
      [
        "batchUpdateInventory",
        "POST /inventory:batch",
        "petstore.v1.InventoryService/BatchUpdateInventory",
        "inventory:write",
        "beta",
      ],
      [
        "listStockChanges",
        "GET /inventory/changes",
        "petstore.v1.InventoryService/ListStockChanges",
        "inventory:read",
        "beta",
      ],
      [
        "listStockChangesByPet",
        "GET /inventory/{pet}/changes",
        "petstore.v1.InventoryService/ListStockChanges",
        "inventory:read",
        "beta",
      ],
      [
        "watchStockChanges",
        "GET /inventory/changes:watch",
        "petstore.v1.InventoryService/WatchStockChanges",
        "inventory:read",
        "beta",
      ],
      ["getPet", "GET /pets/{petId}", "petstore.v1.PetService/GetPet", "pets:read", "stable"],
      ["listOrders", "GET /store/orders", "petstore.v1.StoreService/ListOrders", "orders:read", "stable"],
      ["createHold", "POST /holds", "petstore.v1.HoldService/CreateHold", "inventory:write", "beta"],
      ["listHolds", "GET /holds", "petstore.v1.HoldService/ListHolds", "inventory:read", "beta"],
      ["getHold", "GET /holds/{holdId}", "petstore.v1.HoldService/GetHold", "inventory:read", "beta"],
      ["commitHold", "POST /holds/{holdId}:commit", "petstore.v1.HoldService/CommitHold", "inventory:write", "beta"],
      ["releaseHold", "POST /holds/{holdId}:release", "petstore.v1.HoldService/ReleaseHold", "inventory:write", "beta"],
      ["getLimits", "GET /limits", "petstore.v1.LimitService/GetLimits", undefined, "beta"],
    ]);
  });

  it("says of each operation how to authenticate, what is deprecated and what cannot be tried", () => {
    for (const { value } of openApi.operations.values()) {
      expect(value.security).toEqual([{ apiKey: [] }]);
      expect([value.operationId, value.deprecated ?? false, value["x-sunset"]]).toEqual(
        value.operationId === "getPet" ? ["getPet", true, "2027-06-01"] : [value.operationId, false, undefined],
      );
      expect([value.operationId, value["x-try-it-out"]]).toEqual([
        value.operationId,
        value.operationId !== "listOrders",
      ]);
    }
  });

  it("names each operation once", () => {
    const ids = [...openApi.operations.values()].map(({ value }) => value.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    ["listInventory", [200, 304, 400, 401, 403, 405, 408, 429, 431, 500, 503]],
    ["updateInventory", [200, 400, 401, 403, 404, 405, 408, 412, 413, 415, 422, 429, 431, 500, 503]],
    ["getInventory", [200, 304, 400, 401, 403, 404, 405, 408, 429, 431, 500, 503]],
    ["getAvailability", [200, 400, 401, 403, 404, 405, 408, 429, 431, 500, 503]],
    ["adjustInventory", [200, 400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 422, 429, 431, 500, 503]],
    ["batchUpdateInventory", [200, 400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 422, 429, 431, 500, 503]],
    ["listStockChanges", [200, 400, 401, 403, 404, 405, 408, 410, 429, 431, 500, 503]],
    ["listStockChangesByPet", [200, 400, 401, 403, 404, 405, 408, 410, 429, 431, 500, 503]],
    ["watchStockChanges", [200, 400, 401, 403, 404, 405, 406, 408, 410, 429, 431, 500, 503]],
    ["getPet", [200, 400, 401, 403, 404, 405, 408, 410, 429, 431, 500, 503]],
    ["listOrders", [200, 400, 401, 403, 405, 408, 429, 431, 500, 503]],
    ["createHold", [201, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 503]],
    ["listHolds", [200, 400, 401, 403, 405, 408, 429, 431, 500, 503]],
    ["getHold", [200, 400, 401, 403, 404, 405, 408, 429, 431, 500, 503]],
    ["commitHold", [200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 503]],
    ["releaseHold", [200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 503]],
    ["getLimits", [200, 400, 401, 405, 408, 429, 431, 500, 503]],
  ])("says of %s that it answers %j", (operationId, statuses) => {
    const operation = [...openApi.operations.values()].find(({ value }) => value.operationId === operationId);
    expect(Object.keys(operation?.value.responses as Json).map(Number)).toEqual(statuses);
  });

  it.each([
    ["updateInventory", "If-Match"],
    ["updateInventory", "Idempotency-Key"],
    ["adjustInventory", "If-Match"],
    ["createHold", "Idempotency-Key"],
    ["getInventory", "If-None-Match"],
  ])("says of %s that it takes the header %s", (operationId, name) => {
    const operation = [...openApi.operations.values()].find(({ value }) => value.operationId === operationId);
    const parameters = operation?.value.parameters as Json[];
    expect(parameters.find((parameter) => parameter.name === name)).toMatchObject({ in: "header" });
  });

  describe.each([
    [
      "text/event-stream",
      { id: "Ac16", event: "stock-change", data: "{}" },
      { event: "error", data: "{}", retry: 1000 },
    ],
    ["application/x-ndjson", changeExample(), { error: { code: "UNAVAILABLE", message: "", status: 503 } }],
  ])("of a stream as %s", (type, item, error) => {
    const path = ["paths", "/inventory/changes:watch", "get", "responses", "200", "content", type] as const;

    it("says what each item is, and the last one of a stream that fails", () => {
      const schema = openApi.at(...path, "x-item-schema");
      expect([openApi.faults(schema, item), openApi.faults(schema, error)]).toEqual([[], []]);
      expect(openApi.faults(schema, {})).not.toEqual([]);
    });

    it("takes the whole for text, whose example is as items are sent", () => {
      const { schema, example } = openApi.at(...path).value;
      expect(schema).toEqual({ type: "string" });
      expect(example).toContain(JSON.stringify(changeExample()));
    });
  });

  it("says that a wait is told with each 429 but that of too many streams", () => {
    const retryAfter = (path: string) => openApi.at("paths", path, "get", "responses", "429", "headers", "Retry-After");
    expect(retryAfter("/inventory").value.required).toBe(true);
    expect(retryAfter("/inventory/changes:watch").value).toMatchObject({
      required: false,
      description: expect.stringContaining("Left out with `TOO_MANY_STREAMS`."),
    });
  });

  it.each<[key: string, isValid: boolean]>([
    ["a", true],
    ['"a"', true],
    ['"a\\"b"', true],
    ["k".repeat(255), true],
    ["k".repeat(256), false],
    ["", false],
    ['""', false],
    ["a b", false],
    ['"a', false],
  ])("takes for an idempotency key: %s? %s", (key, isValid) => {
    const at = openApi.at("paths", "/holds", "post", "parameters");
    expect(openApi.faults(openApi.within(openApi.within(at, "0"), "schema"), key).length === 0).toBe(isValid);
  });

  it("takes for an If-Match what the service takes", () => {
    const parameters = openApi.at("paths", "/inventory/{petId}", "patch", "parameters");
    const index = (parameters.value as unknown as Json[]).findIndex(({ name }) => name === "If-Match");
    const schema = openApi.within(openApi.within(parameters, String(index)), "schema");
    const parts = fc.constantFrom('"17"', 'W/"é"', '""', ",", ", ", " ", "\t", "*", '"', "W/", "a");
    const values = fc.array(parts, { maxLength: 6 }).map((all) => all.join(""));
    fc.assert(
      fc.property(values, (value) => {
        expect(openApi.faults(schema, value).length === 0).toBe(isIfMatch(value));
      }),
      { numRuns: 2_000, examples: [['"a", W/"b" ,, "c"'], [`"${"a".repeat(16_382)}"`], [`"${"a".repeat(16_383)}"`]] },
    );
  });

  it("takes for a reason all characters but the control characters of Unicode", () => {
    const { pattern } = openApi.at("components", "schemas", "InventoryUpdate", "properties", "reason").value;
    const regex = new RegExp(pattern as string, "u");
    for (let code = 0; code <= 0x2fff; code += 1) {
      const character = String.fromCodePoint(code);
      expect([code, regex.test(character)]).toEqual([code, !/\p{Cc}/u.test(character)]);
    }
  });

  it("says more of each operation than its summary", () => {
    const operations = [...openApi.operations.values()].map(({ value }) => value);
    expect(operations.filter(({ description }) => description === undefined)).toEqual([]);
  });

  it("tells of each error code what it is and what to do", () => {
    const reasons = openApi.document["x-error-reasons"] as Record<string, unknown>[];
    expect(
      Object.fromEntries(reasons.map(({ code, status, canonical }) => [code, { http: status, canonical }])),
    ).toEqual(errorCodes);
    for (const { meaning, remedy } of reasons) {
      expect(meaning).toMatch(/\.$/);
      expect(remedy).toMatch(/\.$/);
    }
  });

  it.each<[name: string, value: unknown, isValid: boolean]>([
    ["InventoryItem", { petId: -7, quantity: 3.0, status: "sold" }, true],
    ["InventoryItem", { petId: "7", quantity: 3, status: "sold" }, false],
    ["InventoryItem", { petId: 7, quantity: 3.5, status: "sold" }, false],
    ["InventoryItem", { petId: 7, quantity: 3, status: "SOLD" }, false],
    ["InventoryItem", { petId: 7, status: "sold" }, false],
    ["InventoryUpdate", { quantity: 0 }, true],
    ["InventoryUpdate", {}, false],
    ["InventoryUpdate", { quantity: 0, reason: "r".repeat(65) }, false],
    ["InventoryAdjustment", { delta: -2 }, true],
    ["InventoryAdjustment", { delta: 0 }, false],
    ["InventoryAdjustment", { reason: "sale" }, false],
    ["InventoryChange", { petId: 7, quantity: 1 }, true],
    ["InventoryChange", { petId: 7, delta: 1 }, true],
    ["InventoryChange", { petId: 7, delta: 0 }, false],
    ["InventoryChange", { petId: 7 }, false],
    ["InventoryChange", { petId: 7, quantity: 1, delta: 1 }, false],
    ["InventoryChange", { quantity: 1 }, false],
    ["InventoryChangeResult", { petId: 8, error: { code: "PET_NOT_FOUND", message: "", status: 404 } }, true],
    ["InventoryUpdate", { quantity: 0, reason: "stock-take\n" }, false],
    ["InventoryAdjustment", { delta: -2, reference: "order\u007f17" }, false],
    ["InventoryChange", { petId: 7, quantity: 1, etag: '"17"' }, true],
    ["InventoryChange", { petId: 7, quantity: 1, etag: "*" }, true],
    ["InventoryChange", { petId: 7, quantity: 1, etag: 'W/"17"' }, false],
    ["BatchUpdateInventoryRequest", { changes: [] }, false],
    ["BatchUpdateInventoryRequest", {}, false],
    ["CreateHoldRequest", { petId: 7, quantity: 1, ttl: "-5s" }, false],
    ["CreateHoldRequest", { petId: 7, quantity: 1, reference: "cart\t5" }, false],
    ["CommitHoldRequestBody", { reason: "\u0000" }, false],
    ["CreateHoldRequest", { petId: 7, quantity: 1, ttl: "0.5s" }, true],
    ["CreateHoldRequest", { petId: 7, quantity: 1, ttl: 900 }, false],
    ["CreateHoldRequest", { petId: 7, quantity: 1, ttl: "900" }, false],
    ["CreateHoldRequest", { petId: 7, quantity: 0 }, false],
    ["CommitHoldRequestBody", {}, true],
    ["PetStatus", "unspecified", false],
    ["Error", { code: "PET_NOT_FOUND", message: "", status: 404 }, true],
    ["Error", { code: "NOPE", message: "", status: 404 }, false],
  ])("takes for a %s: %j? %s", (name, value, isValid) => {
    expect(openApi.faults(openApi.at("components", "schemas", name), value).length === 0).toBe(isValid);
  });

  it("has no schema with alternatives beside its properties, of which generators make no type", () => {
    const schemas = Object.entries(openApi.at("components", "schemas").value as Record<string, object>);
    expect(schemas.filter(([, schema]) => "properties" in schema).length).toBeGreaterThan(10);
    expect(schemas.filter(([, schema]) => "properties" in schema && ("oneOf" in schema || "anyOf" in schema))).toEqual(
      [],
    );
  });

  it.each([...examples({ pointer: "", value: openApi.document })])("has a valid example at $pointer", (example) => {
    expect(openApi.faults(example.schema, example.value)).toEqual([]);
  });

  it("has an example of each body, in both directions", () => {
    const pointers = [...examples({ pointer: "", value: openApi.document })].map(({ pointer }) => pointer);
    expect(pointers.filter((pointer) => /\/requestBody\//.test(pointer))).toHaveLength(6);
    expect(pointers.filter((pointer) => /\/responses\/20[01]\/content\//.test(pointer))).toHaveLength(18);
  });
});

function isIfMatch(value: string): boolean {
  try {
    parseIfMatch(value);
    return true;
  } catch {
    return false;
  }
}

/** The example of a change. */
function changeExample(): Json {
  const content = openApi.at("paths", "/inventory/changes", "get", "responses", "200", "content", "application/json");
  return (content.value.example as Json[])[0] as Json;
}

/** All examples of the description: those in schemas, and those beside one. */
function* examples(part: Located): Generator<{ pointer: string; schema: Located; value: unknown }> {
  const { pointer, value } = part;
  const isSchema = /^\/components\/schemas\/[^/]+$/.test(pointer);
  if (isSchema || value.schema !== undefined) {
    const schema = isSchema ? part : openApi.within(part, "schema");
    if (value.example !== undefined) {
      yield { pointer: `${pointer}/example`, schema, value: value.example };
    }
    for (const [name, example] of Object.entries((value.examples ?? {}) as Record<string, Json>)) {
      yield { pointer: `${pointer}/examples/${name}`, schema, value: isSchema ? example : example.value };
    }
  }
  for (const [name, child] of Object.entries(value)) {
    const isReference = typeof child === "object" && child !== null && "$ref" in child;
    if (typeof child === "object" && child !== null && !isReference && !/^example|^schema$/.test(name)) {
      yield* examples(openApi.within(part, name));
    }
  }
}
