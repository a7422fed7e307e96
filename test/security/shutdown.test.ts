import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { createCertificate } from "../support/certificate.ts";
import { createHttp1Client } from "../support/http.ts";
import { openSocket } from "../support/raw.ts";
import { serve, startServer, type TestServer, TestStore } from "../support/server.ts";
import { frame, openingWith, preface } from "./http2-frames.ts";

/** Longer than a server is at it that waits for nobody. */
const patient = ["--shutdown-grace", "20s"];

/** Ends a server, which must not take the time that it gives to running calls. */
async function expectPromptEnd(server: TestServer): Promise<void> {
  const start = performance.now();
  expect(await server.end()).toBe(0);
  expect(performance.now() - start).toBeLessThan(10_000);
}

it("waits for no client that is silent, when it is told to stop", async () => {
  const server = await serve(new TestStore(), { flags: patient });
  onTestFinished(() => server.stop());
  const beginnings: (string | Buffer)[] = [
    "",
    "G",
    "GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\n",
    "PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
    `${"GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
    preface.subarray(0, 8),
    preface,
    openingWith(),
    openingWith(frame("headers", { stream: 1 }).subarray(0, 4)),
  ];
  const sockets = await Promise.all(beginnings.map((bytes) => openWith(server, bytes)));
  await expectPromptEnd(server);
  for (const socket of sockets) {
    socket.destroy();
  }
});

async function openWith(server: TestServer, bytes: string | Buffer): Promise<Socket> {
  const socket = openSocket(server).on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  return socket;
}

it("waits for no client that is silent over TLS, when it is told to stop", async () => {
  const store = new TestStore();
  const { certFile, keyFile, pem } = createCertificate(store.directory);
  const server = await serve(store, { flags: [...patient, "--tls-cert", certFile, "--tls-key", keyFile], ca: pem });
  onTestFinished(() => server.stop());
  const bare = await openWith(server, "");
  for (const protocol of ["h2", "http/1.1"]) {
    const options = { port: server.port, ALPNProtocols: [protocol], ca: pem, servername: "localhost" };
    await once(
      connectTls(options).on("error", () => {}),
      "secureConnect",
    );
  }
  const session = connectHttp2(server.origin, { ca: pem }).on("error", () => {});
  await once(session, "connect");
  await expectPromptEnd(server);
  bare.destroy();
});

it.each([40, 90, 140])("has answered every update that it has made, when it stops after %i", async (updates) => {
  const server = await startServer();
  onTestFinished(() => server.stop());
  const { key } = await server.store.mintQuota(1_000_000, 1_000_000);
  const answered = new Map<bigint, bigint>();
  let left = updates;
  let ended: Promise<unknown> | undefined;

  /** Sets a pet's stock again and again, each time after the answer to the last, until the server is gone. */
  async function write(petId: bigint): Promise<void> {
    const http = createHttp1Client(server);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (let quantity = 1_000n; ; quantity += 1n) {
      const request = { method: "PATCH", path: `/v1/inventory/${petId}`, headers, body: `{"quantity":${quantity}}` };
      const answer = await http.send(request).catch(() => undefined);
      if (answer?.status !== 200) {
        return http.close();
      }
      answered.set(petId, quantity);
      left -= 1;
      ended ??= left > 0 ? undefined : server.end();
    }
  }
  await Promise.all([0n, 1n, 2n, 7n].map(write));
  expect(await ended).toBe(0);

  const lines = (await server.store.run("export", "--format", "jsonl")).trim().split("\n");
  const stock = new Map(
    lines.map((line) => JSON.parse(line)).map(({ id, quantity }) => [BigInt(id), BigInt(quantity)]),
  );
  for (const [petId, quantity] of answered) {
    expect(stock.get(petId), `of pet ${petId}`).toBe(quantity);
  }
});
