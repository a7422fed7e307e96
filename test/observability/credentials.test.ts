import { expect, it } from "vitest";
import { maskCredentials } from "../../src/observability/credentials.ts";

it.each<[what: string, text: string, masked: string]>([
  ["the name and the password of an address", "at http://me:secret@host:1/v1", "at http://********@host:1/v1"],
  ["a password with an @, a slash and a space in it", "'http://me:se@c/r et@host'", "'http://********@host'"],
  ["those of an address without a scheme", "'//me:secret@host'", "'//********@host'"],
  ["those of an address with a slash too many", "https:///me:secret@host", "https://********@host"],
  ["those of an address on each line", "//a:b@c\n//d:e@f", "//********@c\n//********@f"],
  ["no address without them", "http://host:1/v1", "http://host:1/v1"],
  ["no file of a stack trace", "at f (file:///a/@b/c.mjs:1:2)", "at f (file:///a/@b/c.mjs:1:2)"],
])("masks %s", (_what, text, masked) => {
  expect(maskCredentials(text)).toBe(masked);
});
