import { once } from "node:events";
import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { expectFault, listenBare, openBare } from "./bare-node.ts";

it("Node refuses each further piece of a refused connection", async () => {
  let refused = 0;
  const server = createServer().on("clientError", (_error, socket: Duplex) => {
    refused += 1;
    socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const client = await openBare(await listenBare(server));
  client.write("BAD\r\n\r\n");
  await expect.poll(() => refused).toBe(1);
  client.end("x");
  await once(server, "clientError");
  expectFault(refused > 1, "oncePerSocket in src/http/node-faults/http1-socket-errors.ts");
});

it("Node leaves a socket without a listener for errors when it emits connect", async () => {
  const { promise: listeners, resolve } = Promise.withResolvers<number>();
  const server = createServer().on("connect", (_request, socket: Duplex) => resolve(socket.listenerCount("error")));
  const client = await openBare(await listenBare(server));
  client.write("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n");
  expectFault((await listeners) === 0, "ignoreErrors in src/http/node-faults/http1-socket-errors.ts");
});
