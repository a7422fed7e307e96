import { expect, it } from "vitest";
import { type ContentCoding, chooseCoding } from "../../src/gateway/negotiation.ts";

it.each<[acceptEncoding: string | undefined, coding: ContentCoding | undefined]>([
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["gzip", "gzip"],
  ["GZip", "gzip"],
  ["x-gzip", "gzip"],
  ["br", "br"],
  ["gzip, deflate, br", "br"],
  ["gzip, deflate, br, zstd", "br"],
  ["gzip;q=0.9, br;q=0.8", "gzip"],
  ["gzip;q=0.8, br;q=0.9", "br"],
  ["gzip;q=0.1", "gzip"],
  ["br;q=0", undefined],
  ["br;q=0, gzip", "gzip"],
  ["br;q=0.000, gzip;q=0.001", "gzip"],
  ["gzip;q=0, br;q=0", undefined],
  ["gzip ; q=0.5 , br ; q=0.4", "gzip"],
  ["*", "br"],
  ["*;q=0", undefined],
  ["br;q=0, *", "gzip"],
  ["gzip, *;q=0", "gzip"],
  ["br;q=0, gzip;q=0, *", undefined],
  ["identity;q=0, gzip;q=0.1", "gzip"],
  ["identity;q=0", undefined],
  ["identity, gzip;q=0.5", undefined],
  ["identity;q=0.5, gzip;q=0.5", "gzip"],
  ["identity;q=0.5, gzip;q=0.6", "gzip"],
  ["deflate, zstd", undefined],
  ["gzip;q=2", undefined],
  ["gzip;q=x", undefined],
  ["gzip;q=-1, br;q=0.1", "br"],
  [",,gzip,,", "gzip"],
])("takes Accept-Encoding: %s as %s", (acceptEncoding, coding) => {
  expect(chooseCoding(acceptEncoding)).toBe(coding);
});
