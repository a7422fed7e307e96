import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { createClientAddress } from "../../src/http/client-address.ts";
import { listen } from "../../src/http/listener.ts";
import { createRequestIdReader } from "../../src/http/request-id.ts";
import { until } from "../support/deadline.ts";

let port: number;
let answered: number;

beforeEach(async () => {
  answered = 0;
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    tls: undefined,
    requestTimeoutMs: 30_000,
    clientAddress: createClientAddress([]),
    readRequestId: createRequestIdReader(() => false),
    async handle(exchange) {
      answered += 1;
      await exchange.respond({ status: 200, header: new Headers(), body: Buffer.alloc(100_000) });
    },
    handleFault: () => {},
    reportAcceptError: () => {},
    reportBurst: () => {},
  });
  port = listener.address.port;
  onTestFinished(() => listener.close(0));
});

async function open(): Promise<Socket> {
  const client = connect(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void client.destroy());
  await once(client, "connect");
  return client;
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

it("a client that sends requests, and reads no answers, has few of them answered before it reads on", async () => {
  const client = await open();
  client.pause();
  client.write(request.repeat(1_000));
  let before = -1;
  await until(async () => {
    const isSettled = answered > 0 && answered === before;
    before = answered;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return isSettled;
  }, 5_000);
  // What the system takes, and 32 more: each takes as much as 100 KB.
  expect(answered).toBeLessThan(300);
  client.resume();
  await until(async () => answered === 1_000, 5_000);
});

it("empty lines before a request are dropped as they come", async () => {
  const client = await open();
  client.write("\r\n".repeat(8_000_000));
  client.write(request);
  await until(async () => answered === 1, 2_000);
});
