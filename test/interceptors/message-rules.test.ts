import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { compileRules } from "../../src/interceptors/message-rules.ts";

const { getInventory, updateInventory, batchUpdateInventory } = InventoryService.method;

describe("the rules of messages", () => {
  const rules = compileRules([getInventory.input, updateInventory.input, batchUpdateInventory.input]);

  it("are not asked for where a message has none", () => {
    expect(rules.has(getInventory.input)).toBe(false);
  });

  it("find what is missing", () => {
    const found = rules.get(updateInventory.input)?.(create(updateInventory.input, { petId: 7n }));
    expect(found?.map(({ ruleId }) => ruleId)).toEqual(["required"]);
  });

  it("find what is wrong in the messages of a list", () => {
    const message = create(batchUpdateInventory.input, { changes: [{ petId: 7n }] });
    expect(rules.get(batchUpdateInventory.input)?.(message)).not.toEqual([]);
  });

  it("are looked for one by one in a long list", () => {
    const message = create(batchUpdateInventory.input, { changes: Array.from({ length: 1_001 }, () => ({})) });
    expect(rules.get(batchUpdateInventory.input)?.(message)).toHaveLength(1);
  });
});
