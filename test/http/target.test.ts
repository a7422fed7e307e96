import { expect, it } from "vitest";
import { parseTarget } from "../../src/http/target.ts";

const cases: [target: string, path: string, query: string, authority: string | undefined][] = [
  ["/v1/inventory", "/v1/inventory", "", undefined],
  ["/v1/inventory?", "/v1/inventory", "", undefined],
  ["/v1/inventory?a=1?b=2", "/v1/inventory", "a=1?b=2", undefined],
  ["//v1/./inventory", "//v1/./inventory", "", undefined],
  ["http://a.example:80/v1/inventory?a=1", "/v1/inventory", "a=1", "a.example:80"],
  ["HTTPS://a.example", "/", "", "a.example"],
  ["http://a.example?a=1", "/", "a=1", "a.example"],
  ["*", "*", "", undefined],
];

it.each(cases)("takes %s apart", (target, path, query, authority) => {
  expect(parseTarget(target)).toEqual({ path, query, authority });
});
