import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { setTimeout } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { openSocket, readAnswer } from "../support/raw.ts";
import { envelope } from "../support/rpc-wire.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let session: ClientHttp2Session;
/** The address of a test's client. */
let address: string;
let addressCount = 0;

beforeAll(async () => {
  server = await startServer("--log-level", "debug", "--trusted-proxy", "127.0.0.1/32");
});

// An address for each, as a network's places are free only when the server has heard that its streams are closed.
beforeEach(() => {
  addressCount += 1;
  address = `203.0.${addressCount}.1`;
  session = connect(server.origin);
});

afterEach(() => {
  session.destroy();
});

afterAll(() => server?.stop());

const watch = "/grpc.health.v1.Health/Watch";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const listServices = envelope(
  toBinary(
    ServerReflectionRequestSchema,
    create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } }),
  ),
);

function headOf(path: string) {
  const type = "application/grpc";
  return { ":method": "POST", ":path": path, "content-type": type, te: "trailers", "x-forwarded-for": address };
}

function open(path: string, type = "application/grpc"): ClientHttp2Stream {
  return session.request({ ...headOf(path), "content-type": type });
}

/** The code by which a stream ends, and what came of it. */
function ended(stream: ClientHttp2Stream) {
  return new Promise<{ reset: number | undefined; status: unknown; text: string }>((resolve) => {
    let status: unknown;
    let text = "";
    stream.on("response", (head) => {
      status = head["grpc-status"];
    });
    stream.on("trailers", (tail) => {
      status = tail["grpc-status"];
    });
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
    });
    stream.on("error", () => {});
    stream.on("close", () => resolve({ reset: stream.rstCode, status, text }));
  });
}

/** Asks for the services, and resolves with the first of the answer. */
function isAnswered(stream: ClientHttp2Stream): Promise<Buffer> {
  stream.write(listServices);
  return new Promise((resolve) => stream.once("data", resolve));
}

describe("a stream without a message", () => {
  it.each([
    [watch, "application/grpc", "12"],
    [reflection, "application/grpc", "0"],
    [watch, "application/grpc-web", undefined],
    [reflection, "application/grpc-web", undefined],
    [watch, "application/connect+proto", undefined],
    [reflection, "application/connect+proto", undefined],
  ])("is answered: %s as %s", async (path, type, status) => {
    const stream = open(path, type);
    // An empty DATA frame after the headers, as grpc-go sends it.
    stream.end();
    expect((await ended(stream)).status).toBe(status);
  });
});

describe("a client that waits for 100 Continue", () => {
  const open = (path: string) => session.request({ ...headOf(path), expect: "100-continue" });

  it.each([watch, reflection])("is asked for the message of a stream: %s", async (path) => {
    const stream = open(path);
    await once(stream, "continue");
    stream.end(path === watch ? envelope(Buffer.alloc(0)) : listServices);
    await once(stream, "data");
    stream.close();
  });

  it("is not asked for it, if the stream is refused", async () => {
    const streams = Array.from({ length: 64 }, () => open(reflection));
    await Promise.all(streams.map((stream) => once(stream, "continue")));
    const refused = open(reflection);
    const asked = vi.fn();
    refused.on("continue", asked);
    expect((await ended(refused)).status).toBe("8");
    expect(asked).not.toHaveBeenCalled();
  });
});

describe("a client that takes its answer late", () => {
  it("gets all of it, though it has not sent all of its request", async () => {
    session.destroy();
    session = connect(server.origin, { settings: { initialWindowSize: 0 } });
    const stream = session.request({ ":method": "PATCH", ":path": "/v1/inventory/7" });
    stream.write("{");
    const end = ended(stream);
    // Longer than the rest of a request is waited for, and than it is looked whether an answer has left.
    await setTimeout(2_500);
    session.settings({ initialWindowSize: 65_535 });
    const { text, reset } = await end;
    expect(JSON.parse(text)).toMatchObject({ code: "API_KEY_MISSING" });
    expect(reset).toBe(constants.NGHTTP2_NO_ERROR);
    expect((await fetch(`${server.origin}/openapi.json`)).status).toBe(200);
  });
});

describe("a client that goes on sending", () => {
  it("gets its refusal, and a reset without an error", async () => {
    const stream = open("/petstore.v1.PetService/GetPet");
    stream.write(envelope(Buffer.alloc(1_000), { length: 20_000 }));
    expect(await ended(stream)).toMatchObject({ reset: constants.NGHTTP2_NO_ERROR, status: "16" });
  });

  it.each<[title: string, send: (stream: ClientHttp2Stream) => void, reset: number]>([
    ["goes on", (stream) => stream.write(envelope(Buffer.alloc(100_000), { length: 200_000 })), 0],
    ["has sent all", (stream) => stream.end(envelope(Buffer.alloc(60_000))), 0],
  ])(
    "holds no place when its stream is answered, and it %s",
    async (_title, send, reset) => {
      for (let round = 0; round < 65; round += 1) {
        const stream = open(reflection);
        send(stream);
        expect(await ended(stream)).toMatchObject({ reset, status: "8" });
      }
      // Nearly as many as one network may have: the server may be about to hear that the last ones are closed.
      const streams = Array.from({ length: 60 }, () => open(reflection));
      await Promise.all(streams.map(isAnswered));
    },
    60_000,
  );
});

describe("the log of streams", () => {
  it("tells the code of a call that failed while it was read", async () => {
    const stream = open(reflection);
    stream.end(envelope(Buffer.of(0x0a, 0x7f)));
    expect((await ended(stream)).status).toBe("3");
    await expect.poll(() => linesWith("INVALID_REQUEST", reflection)).toBeGreaterThan(0);
  });

  it("does not blame the service for a client with too many", async () => {
    const before = server.log.length;
    const streams = Array.from({ length: 64 }, () => open(reflection));
    await Promise.all(streams.map(isAnswered));
    const refused = open(reflection);
    refused.end(listServices);
    expect((await ended(refused)).status).toBe("8");
    await expect.poll(() => linesWith("RATE_LIMIT_EXCEEDED", reflection)).toBe(1);
    // Neither `warn` nor `error`, whoever the line names.
    expect(server.log.slice(before)).not.toMatch(/"level":[45]0\b/);
  });
});

/** The lines of the log about this test's client. */
function lines(): string[] {
  return server.log.split("\n").filter((line) => line.includes(`"clientAddress":"${address}"`));
}

function linesWith(code: string, path: string): number {
  return lines().filter((line) => line.includes(`"code":"${code}"`) && line.includes(path.slice(1))).length;
}

describe("a connection of HTTP/1.1 on which a stream was answered before its request ended", () => {
  it("goes on to serve, once the request has ended", async () => {
    const socket = openSocket(server);
    const tooLarge = envelope(Buffer.alloc(70_000)).toString("latin1");
    socket.write(`${watchHead}transfer-encoding: chunked\r\n\r\n${chunk(tooLarge)}`, "latin1");
    expect((await readAnswer(socket)).text).toContain("error");

    socket.write(chunk("more") + chunk(""));
    // Longer than what is left of a request may take to come.
    await setTimeout(1_200);
    socket.write("GET /docs HTTP/1.1\r\nhost: a\r\n\r\n");
    expect((await readAnswer(socket)).status).toBe(200);
    socket.destroy();
  });
});

describe("a stream of HTTP/1.1", () => {
  it("asks for its message, where the client waits for that", async () => {
    const socket = openSocket(server);
    socket.write(`${watchHead}content-length: 5\r\nexpect: 100-continue\r\n\r\n`);
    expect((await readAnswer(socket)).status).toBe(100);
    socket.write(envelope(Buffer.alloc(0)));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString("latin1")).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });

  it("that needs HTTP/2 is refused without a word against further requests, and they are served", async () => {
    const socket = openSocket(server);
    socket.write(
      `POST ${reflection} HTTP/1.1\r\nhost: a\r\ncontent-type: application/grpc\r\ncontent-length: 0\r\n\r\n`,
    );
    const refused = await readAnswer(socket);
    expect([refused.status, refused.headers.get("connection")]).toEqual([505, "keep-alive"]);
    socket.write("GET /docs HTTP/1.1\r\nhost: a\r\n\r\n");
    expect((await readAnswer(socket)).status).toBe(200);
    socket.destroy();
  });

  it("does not wait for its message for ever", async () => {
    const impatient = await startServer("--request-timeout", "1s");
    const socket = openSocket(impatient);
    socket.write(`${watchHead}content-length: 5\r\n\r\n\0`);
    expect((await readAnswer(socket)).text).toContain("REQUEST_TIMEOUT");
    socket.destroy();
    await impatient.stop();
  });
});

const watchHead = `POST ${watch} HTTP/1.1\r\nhost: a\r\ncontent-type: application/connect+proto\r\n`;

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
