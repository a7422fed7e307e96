import { createServer } from "node:http";
import type { Socket } from "node:net";
import { it } from "vitest";
import { until } from "../../support/deadline.ts";
import { expectFault, listenBare, openBare } from "./bare-node.ts";

it("Node reads all of a body that nobody has started to read", async () => {
  let connection: Socket | undefined;
  const server = createServer((request, response) => {
    connection = request.socket;
    response.end();
  });
  const client = await openBare(await listenBare(server));
  const bytes = 20_000_000;
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
  client.write(Buffer.alloc(bytes));
  const isAllRead = await until(async () => (connection?.bytesRead ?? 0) >= bytes, 2_000).then(
    () => true,
    () => false,
  );
  expectFault(isAllRead, "preventAutoDrain in src/http/node-faults/http1-unread-body.ts");
});
