import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSocket } from "../support/raw.ts";
import { envelope } from "../support/rpc-wire.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startServer("--log-level", "debug");
});

afterAll(() => server.stop());

/** A call of `Watch` for all services, whose answer goes on until the client goes away. */
const watch = Buffer.concat([
  Buffer.from(
    [
      "POST /grpc.health.v1.Health/Watch HTTP/1.1",
      "Host: x",
      "Content-Type: application/connect+proto",
      "Content-Length: 5",
      "",
      "",
    ].join("\r\n"),
  ),
  envelope(new Uint8Array()),
]);

/** How many streams have ended, by the server's log. */
const ended = () => server.log.split("\n").filter((line) => line.includes("Health/Watch")).length;

it("a stream gives back its place when its client goes away, whatever that has pipelined behind it", async () => {
  // More than the 64 that one network may have open.
  for (let round = 0; round < 70; round += 1) {
    const socket = openSocket(server);
    socket.write(Buffer.concat([watch, watch, watch]));
    await once(socket, "data");
    socket.destroy();
    await expect.poll(ended).toBe(round + 1);
  }
  expect(server.log).not.toContain("RATE_LIMIT_EXCEEDED");
});
