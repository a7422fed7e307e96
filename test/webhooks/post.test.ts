import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { PrivateAddressError } from "../../src/webhooks/address.ts";
import { PostTimeoutError, sendPost, sendWith } from "../../src/webhooks/post.ts";
import { createCertificate } from "../support/certificate.ts";
import { createFolder } from "../support/folder.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
  }
});

async function listen(server: Server): Promise<URL> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
}

const answering = (listener: RequestListener) => listen(createServer(listener));
const speaking = (talk: (socket: Socket) => void) =>
  listen(createSocketServer((socket) => socket.on("error", () => {}).once("data", () => talk(socket))));

function send(url: URL, allowPrivate = true) {
  return sendPost({ url, headers: {}, body: "{}", allowPrivate, signal: new AbortController().signal });
}

describe("a post", () => {
  it("tells the status, and how long the receiver asks to wait", async () => {
    const url = await answering((_request, response) => response.writeHead(503, { "retry-after": "7" }).end("later"));
    expect(await send(url)).toEqual({ status: 503, retryAfter: "7" });
  });

  it.each<[fault: string, talk: (socket: Socket) => void]>([
    ["hangs", () => {}],
    ["is cut", (socket) => socket.end()],
    ["has no end", (socket) => socket.write(Buffer.alloc(100_000))],
  ])("tells the status of a refusal whose body %s, and closes the connection", async (_fault, talk) => {
    const closed = Promise.withResolvers<void>();
    const url = await speaking((socket) => {
      socket.once("close", closed.resolve);
      socket.write("HTTP/1.1 503 Busy\r\nretry-after: 600\r\ncontent-length: 1000000\r\n\r\nx");
      talk(socket);
    });
    expect(await send(url)).toEqual({ status: 503, retryAfter: "600" });
    await closed.promise;
  });

  it("follows no redirect", async () => {
    let requests = 0;
    const url = await answering((_request, response) => {
      requests += 1;
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    expect((await send(url)).status).toBe(302);
    expect(requests).toBe(1);
  });

  it("takes an answer that switches protocols for a failure, and closes the connection", async () => {
    const closed = Promise.withResolvers<void>();
    const url = await speaking((socket) => {
      socket.once("close", closed.resolve);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n");
    });
    expect(await send(url)).toEqual({ status: 101, retryAfter: undefined });
    await closed.promise;
  });

  it.each<[what: string, begin: string, more: string, outcome: object]>([
    ["an answer", "HTTP/1.1 200 OK\r\n\r\n", "x".repeat(1_000), { value: { status: 200 } }],
    [
      "an answer with large extensions of its chunks",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
      `1;${"a".repeat(1_000)}\r\nx\r\n`,
      { value: { status: 200 } },
    ],
    [
      "hints",
      "",
      "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
      { reason: { message: "it sends hints without end" } },
    ],
  ])("reads 64 KiB of %s without end, and closes the connection", async (_what, begin, more, outcome) => {
    let written = 0;
    const closed = Promise.withResolvers<void>();
    const url = await speaking((socket) => {
      const piece = more.repeat(Math.ceil(16_384 / more.length));
      const write = () => {
        while (!socket.destroyed && socket.write(piece)) {
          written += piece.length;
        }
      };
      socket.on("drain", write).on("close", closed.resolve);
      socket.write(begin);
      write();
    });
    const [settled] = await Promise.allSettled([send(url)]);
    expect(settled).toMatchObject(outcome);
    await closed.promise;
    // What the system holds between the two is sent, too.
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it.each([
    ["204 with a body", "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n{}", 204],
    ["a body beyond its length", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabc", 200],
    ["bytes behind the last chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx", 200],
  ])("takes a whole answer with more behind it for what it is: %s", async (_what, text, status) => {
    expect(await send(await speaking((socket) => socket.end(text)))).toMatchObject({ status });
  });

  it.each<[fault: string, talk: (socket: Socket) => void, code: RegExp]>([
    ["resets", (socket) => socket.resetAndDestroy(), /^ECONNRESET$/],
    ["hangs up", (socket) => socket.end(), /^ECONNRESET$/],
    ["answers garbage", (socket) => socket.end("220 smtp.example ready\r\n"), /^HPE_/],
    ["answers half", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab"), /^ECONNRESET$/],
    [
      "sends headers without end",
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}`),
      /^HPE_HEADER_OVERFLOW$/,
    ],
  ])("fails where the receiver %s", async (_fault, talk, code) => {
    await expect(send(await speaking(talk))).rejects.toMatchObject({ code: expect.stringMatching(code) });
  });

  it("fails after 10 s, whether nothing comes, a byte at a time or no end of hints", async () => {
    const startTimeout = AbortSignal.timeout.bind(AbortSignal);
    // Each second takes 50 ms.
    const started = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => startTimeout(ms / 20));
    onTestFinished(() => started.mockRestore());
    const silent = await speaking(() => {});
    const hinting = await speaking((socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"), 10);
      socket.once("close", () => clearInterval(timer));
    });
    const slow = await speaking((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
      const timer = setInterval(() => socket.write("x"), 100);
      socket.once("close", () => clearInterval(timer));
    });
    const outcomes = await Promise.allSettled([send(silent), send(slow), send(hinting)]);
    expect(outcomes.map((outcome) => (outcome as PromiseRejectedResult).reason)).toEqual([
      expect.any(PostTimeoutError),
      expect.any(PostTimeoutError),
      expect.any(PostTimeoutError),
    ]);
    expect(started.mock.calls).toEqual([[10_000], [10_000], [10_000]]);
  });

  it("trusts no self-signed certificate, also where the environment turns the check off", async () => {
    const { certFile, keyFile } = createCertificate(createFolder());
    let requests = 0;
    const { port } = await listen(
      createHttpsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (_request, response) => {
        requests += 1;
        response.end();
      }),
    );
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    // Node warns of the variable at the first connection.
    const warning = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => {
      vi.unstubAllEnvs();
      warning.mockRestore();
    });
    await expect(send(new URL(`https://127.0.0.1:${port}/`))).rejects.toMatchObject({
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    expect(requests).toBe(0);
  });

  it("connects to no private address, in whichever notation", async () => {
    let requests = 0;
    const { port } = await answering((_request, response) => {
      requests += 1;
      response.end();
    });
    const hosts = ["127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "localhost"];
    for (const host of hosts) {
      await expect(send(new URL(`http://${host}:${port}/`), false)).rejects.toThrow(PrivateAddressError);
    }
    expect(requests).toBe(0);
  });

  it("is not led astray by a name that changes between two look-ups", async () => {
    const answers = ["93.184.215.14", "127.0.0.1"];
    let requests = 0;
    const { port } = await answering((_request, response) => {
      requests += 1;
      response.end();
    });
    const post = { headers: {}, body: "{}", allowPrivate: false, signal: AbortSignal.timeout(500) };
    const url = new URL(`http://receiver.example:${port}/`);
    const lookUp: Parameters<typeof sendWith>[1] = (_name, _options, callback) =>
      callback(null, [{ address: answers.shift() ?? "127.0.0.1", family: 4 }]);
    // The first look-up is what is connected to; a second one never happens.
    await expect(sendWith({ ...post, url }, lookUp)).rejects.toThrow();
    expect(answers).toEqual(["127.0.0.1"]);
    await expect(sendWith({ ...post, url }, lookUp)).rejects.toThrow(PrivateAddressError);
    expect(requests).toBe(0);
  });
});
