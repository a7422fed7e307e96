import { create } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { describe, expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { compileRules } from "../../src/interceptors/message-rules.ts";

const { getInventory, updateInventory, batchUpdateInventory } = InventoryService.method;

describe("the rules of messages", () => {
  const rules = compileRules([getInventory.input, updateInventory.input, batchUpdateInventory.input]);
  const library = createValidator();

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

  it.each([
    "",
    "sale",
    "a\n",
    "\n",
    "a\nb",
    "\0",
    "\x1f",
    " ",
    "\x7e",
    "\x7f",
    "\x80",
    "\x9f",
    "\xa0",
    "\u2028",
    "\u{1f600}",
    "*",
    "**",
    '""',
    '"a"',
    '"a"\n',
    '"a"b"',
    '"\xe9\u{1f600}"',
    '"a b"',
    'W/"a"',
  ])("read a pattern as the library's own engine does: %j", (text) => {
    const change = { petId: 7n, delta: 1n, reason: text, etag: text };
    const message = create(batchUpdateInventory.input, { changes: [change] });
    const { violations = [] } = library.validate(batchUpdateInventory.input, message);
    const found = rules.get(batchUpdateInventory.input)?.(message);
    expect(found?.map(({ ruleId }) => ruleId)).toEqual(violations.map(({ ruleId }) => ruleId));
  });
});
