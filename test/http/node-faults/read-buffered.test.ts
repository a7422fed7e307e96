import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { readBuffered } from "../../../src/http/node-faults/read-buffered.ts";
import { expectFault, nodeMajor } from "./bare-node.ts";

function holding(...pieces: readonly string[]): Readable {
  const stream = new Readable({ read() {} });
  for (const piece of pieces) {
    stream.push(piece);
  }
  return stream;
}

it.runIf(nodeMajor >= 26)("Node reads only the first buffered chunk", () => {
  expectFault(String(holding("a", "b").read()) === "a", "src/http/node-faults/read-buffered.ts");
});

it.each([[[]], [["a"]], [["a", "bc", "d"]]])("reads all that is buffered: %j", (pieces) => {
  expect(readBuffered(holding(...pieces)).toString()).toBe(pieces.join(""));
});
