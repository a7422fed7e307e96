import { describe, expect, it } from "vitest";
import { isAuthority, isSameAuthority, parseTarget } from "../../src/http/target.ts";

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

describe("an authority", () => {
  function check(expected: boolean, texts: string[]): void {
    expect(texts.filter((text) => isAuthority(text) !== expected)).toEqual([]);
  }

  it("takes a host name or an address, with or without a port", () => {
    check(true, ["localhost", "example.com:8080", "127.0.0.1:80", "a_b.c", "xn--bcher-kva.example", "b%C3%BCcher"]);
  });

  it("takes an empty port and every port up to 65535", () => {
    check(true, ["a:", "a:0", "a:65535", "a:00080"]);
    check(false, ["a:65536", "a:99999999999999999999", "a:-1", "a:x", "a:80:80", "a: 80"]);
  });

  it("takes an IP literal in brackets", () => {
    check(true, ["[::1]", "[::1]:8080", "[::ffff:127.0.0.1]", "[2001:DB8::7]:", "[v1.fe80::a]"]);
    check(false, ["[", "[]", "[::1", "::1", "[::1]x", "[1::2::3]", "[fe80::1%25eth0]", "[127.0.0.1]", "[v1]"]);
  });

  it("refuses what is no host", () => {
    check(false, [
      "",
      ":80",
      " ",
      "a b",
      "user@host",
      "a/b",
      "a?b",
      "a#b",
      "http://a",
      "a\\b",
      "%zz",
      "a%4",
      "é",
      "a,b:c",
    ]);
  });

  it("judges a long text at once", () => {
    check(false, [`${"a".repeat(100_000)} `, `${"%41".repeat(30_000)}%`]);
  });
});

it.each<[one: string, other: string, scheme: string | undefined, isSame: boolean]>([
  ["a.example", "A.Example", "http", true],
  ["a:", "a", "http", true],
  ["a:80", "a", "http", true],
  ["a:443", "a", "https", true],
  ["[::1]:80", "[::1]", "http", true],
  ["a:443", "a", "http", false],
  ["a:80", "a", undefined, false],
  ["a", "b", "http", false],
  ["[::1]", "[::2]", "http", false],
  ["a:8080", "a:8081", "http", false],
])("the authorities %s and %s of %s: whether they are the same is %s", (one, other, scheme, isSame) => {
  expect(isSameAuthority(one, other, scheme)).toBe(isSame);
});
