import { once } from "node:events";
import { connect } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UpdateInventoryRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { rest } from "../support/clients/protocols.ts";
import { expectSuccess } from "../support/expectations.ts";
import { rpcPath } from "../support/operations.ts";
import { openSocket, readAnswer } from "../support/raw.ts";
import { envelope } from "../support/rpc-wire.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  ({ key } = await server.store.mintKey());
});

afterAll(() => server?.stop());

interface Update {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly bodyFor: (quantity: number) => Uint8Array;
}

function message(quantity: number): Uint8Array {
  const update = create(UpdateInventoryRequestSchema, { petId: 7n, update: { quantity: BigInt(quantity) } });
  return toBinary(UpdateInventoryRequestSchema, update);
}

const rpc = { method: "POST", path: rpcPath("updateInventory") };
const json = (quantity: number) => Buffer.from(`{"petId":"7","update":{"quantity":"${quantity}"}}`);
const updates: Readonly<Record<string, Update>> = {
  REST: {
    method: "PATCH",
    path: "/v1/inventory/7",
    type: "application/json",
    bodyFor: (quantity) => Buffer.from(`{"quantity":${quantity}}`),
  },
  "Connect in JSON": { ...rpc, type: "application/json", bodyFor: json },
  "Connect in binary": { ...rpc, type: "application/proto", bodyFor: message },
  "gRPC-Web": { ...rpc, type: "application/grpc-web+proto", bodyFor: (quantity) => envelope(message(quantity)) },
  gRPC: { ...rpc, type: "application/grpc", bodyFor: (quantity) => envelope(message(quantity)) },
};

let quantity = 0;

async function expectUpdated(): Promise<void> {
  const { items } = expectSuccess(await server.call(rest, "listInventory", {}, { key }));
  expect(items.find(({ petId }) => petId === 7n)?.quantity).toBe(BigInt(quantity));
}

function piecesOf(bytes: Uint8Array): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / 3) }, (_, index) =>
    Buffer.from(bytes.subarray(3 * index, 3 * index + 3)),
  );
}

describe.each(["at once", "one after the other"])("a body in pieces of three bytes, which come %s", (manner) => {
  it.each(Object.entries(updates).filter(([name]) => name !== "gRPC"))(
    "is taken as one, of %s over HTTP/1.1",
    async (_name, { method, path, type, bodyFor }) => {
      quantity += 1;
      const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: ${type}\r\n`;
      const chunks = piecesOf(bodyFor(quantity)).map((piece) =>
        Buffer.concat([Buffer.from(`${piece.length}\r\n`), piece, Buffer.from("\r\n")]),
      );
      const parts = [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`), ...chunks, Buffer.from("0\r\n\r\n")];
      const socket = openSocket(server).setNoDelay();
      for (const part of manner === "at once" ? [Buffer.concat(parts)] : parts) {
        socket.write(part);
        await pause(2);
      }
      expect((await readAnswer(socket)).status).toBe(200);
      socket.destroy();
      await expectUpdated();
    },
  );

  it.each(Object.entries(updates))("is taken as one, of %s over HTTP/2", async (_name, update) => {
    quantity += 1;
    const session = connect(server.origin);
    const { method, path, type, bodyFor } = update;
    const headers = { authorization: `Bearer ${key}`, "content-type": type };
    const stream = session.request({ ":method": method, ":path": path, ...headers });
    for (const piece of piecesOf(bodyFor(quantity))) {
      stream.write(piece);
      if (manner === "one after the other") {
        await pause(2);
      }
    }
    stream.end().resume();
    const [{ ":status": status }] = await once(stream, "response");
    expect(status).toBe(200);
    await once(stream, "close");
    session.destroy();
    await expectUpdated();
  });
});
