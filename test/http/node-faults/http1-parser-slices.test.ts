import { createServer } from "node:http";
import { it } from "vitest";
import { expectFault, listenBare, openBare } from "./bare-node.ts";

it("Node parses thousands of chunks in one go", async () => {
  const { promise: bytesOfFirstTurn, resolve } = Promise.withResolvers<number>();
  const port = await listenBare(
    createServer((request) => void setImmediate(() => resolve(request.readableLength)).unref()),
  );
  const client = await openBare(port);
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(9_000)}`);
  expectFault((await bytesOfFirstTurn) > 5_000, "src/http/node-faults/http1-parser-slices.ts");
});
