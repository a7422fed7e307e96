import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { errorCodes } from "../../support/error-codes.ts";
import { type Json, type Located, OpenApi } from "./openapi.ts";

const openApi = new OpenApi();

describe("the OpenAPI description", () => {
  it("is valid by OpenAPI 3.1", async () => {
    expect(await new Validator().validate(structuredClone(openApi.document))).toEqual({ valid: true });
    expect(openApi.document.openapi).toMatch(/^3\.1\./);
    expect(openApi.document.info.version).toBe("1.0.0");
  });

  it("describes every operation", () => {
    const operations = [...openApi.operations].map(([route, { value }]) => [
      value.operationId,
      route,
      value["x-rpc"],
      value.security,
      value["x-scope"],
      value["x-stability"],
      value.deprecated ?? false,
      value["x-sunset"],
      value["x-try-it-out"],
    ]);
    const security = [{ apiKey: [] }];
    expect(operations).toEqual([
      [
        "listInventory",
        "GET /inventory",
        "petstore.v1.InventoryService/ListInventory",
        security,
        "inventory:read",
        "stable",
        false,
        undefined,
        true,
      ],
      [
        "updateInventory",
        "PATCH /inventory/{petId}",
        "petstore.v1.InventoryService/UpdateInventory",
        security,
        "inventory:write",
        "experimental",
        false,
        undefined,
        true,
      ],
      [
        "getLimits",
        "GET /limits",
        "petstore.v1.LimitService/GetLimits",
        security,
        undefined,
        "beta",
        false,
        undefined,
        true,
      ],
      [
        "getPet",
        "GET /pets/{petId}",
        "petstore.v1.PetService/GetPet",
        security,
        "pets:read",
        "stable",
        true,
        "2027-06-01",
        true,
      ],
      [
        "listOrders",
        "GET /store/orders",
        "petstore.v1.StoreService/ListOrders",
        security,
        "orders:read",
        "stable",
        false,
        undefined,
        false,
      ],
    ]);
  });

  it.each([
    ["listInventory", [200, 304, 400, 401, 403, 405, 408, 429, 431, 500, 503]],
    ["updateInventory", [200, 400, 401, 403, 404, 405, 408, 413, 415, 429, 431, 500, 503]],
    ["getPet", [200, 400, 401, 403, 404, 405, 408, 410, 429, 431, 500, 503]],
    ["listOrders", [200, 400, 401, 403, 405, 408, 429, 431, 500, 503]],
    ["getLimits", [200, 400, 401, 405, 408, 429, 431, 500, 503]],
  ])("says of %s that it answers %j", (operationId, statuses) => {
    const operation = [...openApi.operations.values()].find(({ value }) => value.operationId === operationId);
    expect(Object.keys(operation?.value.responses as Json).map(Number)).toEqual(statuses);
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
    ["PetStatus", "unspecified", false],
    ["Error", { code: "PET_NOT_FOUND", message: "", status: 404 }, true],
    ["Error", { code: "NOPE", message: "", status: 404 }, false],
  ])("takes for a %s: %j? %s", (name, value, isValid) => {
    expect(openApi.faults(openApi.at("components", "schemas", name), value).length === 0).toBe(isValid);
  });

  it.each([...examples({ pointer: "", value: openApi.document })])("has a valid example at $pointer", (example) => {
    expect(openApi.faults(example.schema, example.value)).toEqual([]);
  });

  it("has an example of each body, in both directions", () => {
    const pointers = [...examples({ pointer: "", value: openApi.document })].map(({ pointer }) => pointer);
    expect(pointers.filter((pointer) => /\/requestBody\//.test(pointer))).toHaveLength(1);
    expect(pointers.filter((pointer) => /\/responses\/200\/content\//.test(pointer))).toHaveLength(5);
  });
});

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
