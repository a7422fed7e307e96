import { describe, expect, it } from "vitest";
import { maskCredentials, shownPath } from "../../src/domain/masking.ts";

const key = "psk_0123456789abcdefghijABCDEFGHIJ012345";

describe("a path is shown", () => {
  it.each([
    ["as it was sent", "/v1/nothing%20here;a=b", "/v1/nothing%20here;a=b"],
    ["printable", "/v1/\u001b[31m\u0085é\n", "/v1/?[31m???"],
    ["up to a length", `/${"a".repeat(1_000)}`, `/${"a".repeat(199)}...`],
    ["whole, where it is just as long", `/${"a".repeat(199)}`, `/${"a".repeat(199)}`],
    ["without a key", `/v1/${key}/stock`, "/v1/********/stock"],
    ["without a key in the midst of a segment", `/v1/key=${key}`, "/v1/********"],
    ["without a mistyped key", "/v1/psk_abc", "/v1/********"],
    ["without an encoded key", `/v1/${key.replace("_", "%5f")}`, "/v1/********"],
    ["without a key that is encoded twice", `/v1/${key.replace("p", "%2570")}`, "/v1/********"],
    ["without a key that is cut", `/${"a".repeat(180)}/${key}`, `/${"a".repeat(180)}/********...`],
    ["with what is no encoding", "/v1/%zz%7", "/v1/%zz%7"],
    ["when it is none", "*", "*"],
  ])("%s", (_how, path, shown) => {
    expect(shownPath(path)).toBe(shown);
  });
});

describe("credentials in a text", () => {
  it.each<[what: string, text: string, masked: string]>([
    ["the name and the password of an address", "at http://me:secret@host:1/v1", "at http://********@host:1/v1"],
    ["a password with an @, a slash and a space in it", "'http://me:se@c/r et@host'", "'http://********@host'"],
    ["those of an address without a scheme", "'//me:secret@host'", "'//********@host'"],
    ["those of an address with a slash too many", "https:///me:secret@host", "https://********@host"],
    ["those of an address on each line", "//a:b@c\n//d:e@f", "//********@c\n//********@f"],
    ["those of a store without its slashes", "'postgres:me:secret@host/db'", "'postgres:********@host/db'"],
    ["those of a store with one slash", "redis:/me:secret@host", "redis:/********@host"],
    ["a password among the parameters", "//h/d?a=b&password=se+c&c=d", "//h/d?a=b&password=********&c=d"],
    [
      "one whose name is longer, or encoded",
      "?sslpassword=a&%70assword=b",
      "?sslpassword=********&%70assword=********",
    ],
    ["no address without them", "http://host:1/v1", "http://host:1/v1"],
    ["no file of a stack trace", "at f (file:///a/@b/c.mjs:1:2)", "at f (file:///a/@b/c.mjs:1:2)"],
  ])("masks %s", (_what, text, masked) => {
    expect(maskCredentials(text)).toBe(masked);
  });
});
