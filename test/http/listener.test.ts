import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Answer, Exchange } from "../../src/http/exchange.ts";
import { HeaderList } from "../../src/http/header-list.ts";
import type { Listener } from "../../src/http/listener.ts";
import { frame, openingWith, requestFrame } from "../security/http2-frames.ts";
import { createCertificate } from "../support/certificate.ts";
import { until } from "../support/deadline.ts";
import { createFolder } from "../support/folder.ts";
import { listenWith, openTo } from "./listening.ts";

let listener: Listener;
/** The exchanges that wait for their answers. */
let waiting: Exchange[];
/** The peers whose connections were ended, because they began too many calls at once. */
let bursts: string[];

beforeEach(async () => {
  waiting = [];
  bursts = [];
  listener = await listenWith({
    handle: async (exchange) => void waiting.push(exchange),
    reportBurst: (peerAddress) => void bursts.push(peerAddress),
  });
});

const open = () => openTo(listener);

/** Answers what waits, and what is begun then, one after the other. */
async function answerAll(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    await next.respond({ status: 200, header: new HeaderList(), body: next.path });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The paths that were answered, in order, with an `!` after one that says that the connection will be closed. */
function answersIn(received: string): string[] {
  return received
    .split("HTTP/1.1 ")
    .slice(1)
    .map((answer) => {
      const [head = "", body = ""] = answer.split("\r\n\r\n");
      return `${body || head.slice(0, 3)}${/^connection: close/im.test(head) ? "!" : ""}`;
    });
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = (path: string, rest: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\n${rest}`;

/** A client's settings and its connection's window, that let all of a large answer be sent at once. */
const wideWindows = [
  frame("settings", { payload: Buffer.from("000440000000", "hex") }),
  frame("windowUpdate", { payload: Buffer.from("40000000", "hex") }),
];

describe("a request of HTTP/1.0", () => {
  async function* pieces() {
    yield Buffer.from("all ");
    yield Buffer.from("of it");
  }

  it.each<[kind: string, body: NonNullable<Answer["body"]>]>([
    ["a whole body", "all of it"],
    ["a body in pieces", pieces()],
  ])("is answered by %s without chunks, and by the end of the connection", async (_kind, body) => {
    const client = await open();
    client.socket.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    await until(async () => waiting.length === 1, 1_000);
    await waiting.shift()?.respond({ status: 200, header: new HeaderList(), body });
    await client.closed;
    const [head = "", content] = client.received().split("\r\n\r\n");
    expect(content).toBe("all of it");
    expect(head).toMatch(/^connection: close$/im);
    expect(head).not.toMatch(/^transfer-encoding:/im);
  });
});

describe("a listener that is closed", () => {
  it("answers all that a connection has asked for, and says with the last that there will be no more", async () => {
    const client = await open();
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
    client.socket.write(paths.map(get).join(""));
    // 8 requests of a connection are begun at a time.
    await until(async () => waiting.length === 8, 1_000);
    const closed = listener.close(5_000);
    await answerAll();
    await closed;
    await client.closed;
    expect(answersIn(client.received())).toEqual([...paths.slice(0, -1), "/19!"]);
  });

  it("answers what comes while it waits for other answers", async () => {
    const client = await open();
    client.socket.write(get("/first"));
    await until(async () => waiting.length === 1, 1_000);
    const closed = listener.close(5_000);
    client.socket.write(get("/second"));
    await until(async () => waiting.length === 2, 1_000);
    await answerAll();
    await closed;
    await client.closed;
    expect(answersIn(client.received())).toEqual(["/first", "/second!"]);
  });

  it("does nothing that comes behind the answer that says so, however long that takes", async () => {
    const rest = Promise.withResolvers<Buffer>();
    async function* body() {
      yield Buffer.from("a");
      yield await rest.promise;
    }
    const client = await open();
    client.socket.write(get("/first"));
    await until(async () => waiting.length === 1, 1_000);
    const closed = listener.close(5_000);
    const answered = waiting.shift()?.respond({ status: 200, header: new HeaderList(), body: body() });
    await until(async () => client.received().includes("connection: close"), 1_000);
    client.socket.write(get("/second"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    rest.resolve(Buffer.from("b"));
    await Promise.all([answered, closed, client.closed]);
    expect(waiting).toEqual([]);
  });

  it("refuses a request whose body breaks meanwhile", async () => {
    const client = await open();
    client.socket.write(post("/broken", "Transfer-Encoding: chunked\r\n\r\n5\r\nab"));
    await until(async () => waiting.length === 1, 1_000);
    const closed = listener.close(5_000);
    client.socket.write("cde\r\nzz\r\n");
    await Promise.all([closed, client.closed]);
    expect(answersIn(client.received())).toEqual(["400!"]);
  });

  it.each<[protocol: string, size: number]>([
    ["http/1.1", 200_000],
    ["h2", 5_000_000],
  ])("sends all of its last answer over TLS: %s", async (protocol, size) => {
    const { pem, keyFile } = createCertificate(createFolder());
    const tls = { cert: pem, key: readFileSync(keyFile, "utf8") };
    const encrypted = await listenWith({ tls, handle: async (exchange) => void waiting.push(exchange) });
    const { port } = encrypted.address;
    const socket = connectTls({ port, host: "127.0.0.1", ca: pem, ALPNProtocols: [protocol] });
    let received = 0;
    socket.on("data", (bytes) => {
      received += bytes.length;
    });
    socket.write(protocol === "h2" ? openingWith(...wideWindows, requestFrame({ ":path": "/" })) : get("/"));
    await until(async () => waiting.length === 1, 1_000);
    const closed = encrypted.close(5_000);
    await waiting.shift()?.respond({ status: 200, header: new HeaderList(), body: Buffer.alloc(size) });
    await Promise.all([closed, once(socket, "close")]);
    expect(received).toBeGreaterThan(size);
  });
});

describe("a listener that is closed while a client reads slowly", () => {
  it("sends all of its last answer over HTTP/2", async () => {
    // The time that is left for the last bytes does not pass.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const client = await open();
    client.socket.write(openingWith(...wideWindows, requestFrame({ ":path": "/" })));
    await until(async () => waiting.length === 1, 1_000);
    const [exchange] = waiting as [Exchange];
    client.socket.pause();
    const closed = listener.close(5_000);
    const body = Buffer.alloc(20_000_000);
    const answered = exchange.respond({ status: 200, header: new HeaderList(), body });
    while (!exchange.record.isWhole) {
      client.socket.read();
      await setImmediate();
    }
    await answered;
    await pause(20);
    // It tells that there is more room, as clients do when they have read.
    client.socket.write(wideWindows[1] as Buffer);
    await pause(20);
    client.socket.resume();
    await Promise.all([closed, client.closed]);
    expect(client.received().length).toBeGreaterThan(body.length);
  });
});

describe("a connection that is reset while its requests wait", () => {
  it("has none of them begun", async () => {
    const client = await open();
    client.socket.write(Array.from({ length: 12 }, (_, index) => get(`/${index}`)).join(""));
    await until(async () => waiting.length === 8, 1_000);
    client.socket.resetAndDestroy();
    await until(async () => waiting.every(({ isAbandoned }) => isAbandoned), 1_000);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(waiting).toHaveLength(8);
  });
});

describe("a client that ends its side of the connection", () => {
  /** The paths that were answered. An answer says that it is the last only if it begins behind the client's end. */
  const pathsIn = (received: string) => answersIn(received).map((answer) => answer.replace("!", ""));

  /** Answers all requests of a client that has ended its side, and returns the answers. */
  async function answersTo(bytes: string, count: number): Promise<string[]> {
    const client = await open();
    client.socket.end(bytes);
    for (let answered = 0; answered < count; answered++) {
      await until(async () => waiting.length > 0, 5_000);
      const next = waiting.shift() as Exchange;
      await next.readBody(1_000).catch(() => {});
      await next.respond({ status: 200, header: new HeaderList(), body: next.path });
    }
    await client.closed;
    return pathsIn(client.received());
  }

  it.each<[what: string, bytes: string, answers: string[]]>([
    ["a request", get("/a"), ["/a"]],
    ["a request with a body", post("/a", "Content-Length: 2\r\n\r\n{}"), ["/a"]],
    ["two requests", get("/a") + get("/b"), ["/a", "/b"]],
    ["a request and half of a head", `${get("/a")}GET`, ["/a", "400"]],
    [
      "a request that closes the connection, and more",
      `${get("/a").replace("Host", "Connection: close\r\nHost")}GET`,
      ["/a"],
    ],
  ])("gets its answers, and then the end: %s", async (_what, bytes, answers) => {
    expect(await answersTo(bytes, answers.filter((answer) => answer !== "400").length)).toEqual(answers);
  });

  it("gets the answers to more requests than are taken at a time", async () => {
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
    expect(await answersTo(paths.map(get).join(""), 100)).toEqual(paths);
  });

  it("gets its answer over TLS", async () => {
    const { pem, keyFile } = createCertificate(createFolder());
    const tls = { cert: pem, key: readFileSync(keyFile, "utf8") };
    const encrypted = await listenWith({ tls, handle: async (exchange) => void waiting.push(exchange) });
    const socket = connectTls({ port: encrypted.address.port, host: "127.0.0.1", ca: pem });
    let received = "";
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
    });
    const closed = once(socket, "close");
    await once(socket, "secureConnect");
    socket.end(get("/a"));
    await until(async () => waiting.length === 1, 5_000);
    await answerAll();
    await closed;
    expect(pathsIn(received)).toEqual(["/a"]);
  });

  it.each([
    ["has begun", true],
    ["begins later", false],
  ])("has its stream ended, because it may have gone away: the stream %s", async (_when, hasBegun) => {
    const client = await open();
    client.socket.write(get("/stream"));
    if (!hasBegun) {
      client.socket.end();
    }
    await until(async () => waiting.length === 1, 5_000);
    const stream = waiting.shift() as Exchange;
    stream.record.isStream = true;
    async function* body() {
      yield Buffer.from("a");
      await once(stream.signal, "abort");
    }
    const answered = stream.respond({ status: 200, header: new HeaderList(), body: body() });
    await until(async () => client.received().endsWith("1\r\na\r\n"), 5_000);
    client.socket.end();
    await client.closed;
    await answered;
  });
});

describe("bytes that are no HTTP", () => {
  it.each<[where: string, bytes: string, answers: string[]]>([
    ["alone are refused", "BAD\r\n\r\n", ["400!"]],
    ["behind a request are refused behind its answer", `${get("/a")}BAD\r\n\r\n`, ["/a", "400!"]],
    [
      "behind two requests are refused behind their answers",
      `${get("/a")}${get("/b")}BAD\r\n\r\n`,
      ["/a", "/b", "400!"],
    ],
    [
      "in the body of a request are refused behind the answers to those before it",
      `${get("/a")}${post("/b", "Transfer-Encoding: chunked\r\n\r\nXYZ\r\n")}`,
      ["/a", "400!"],
    ],
    ["in the body of the first request are refused", post("/b", "Transfer-Encoding: chunked\r\n\r\nXYZ\r\n"), ["400!"]],
    [
      "as CONNECT are refused behind the answer to the request before it",
      `${get("/a")}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
      ["/a", "400!"],
    ],
    [
      "as CONNECT are refused behind the answer to a request with chunks",
      `${post("/a", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
      ["/a", "400!"],
    ],
    [
      "and many of them behind a body in chunks are refused once",
      `${post("/a", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")}${"BAD\r\n\r\n".repeat(9_000)}`,
      ["/a", "400!"],
    ],
    [
      "and many of them in the chunks of the first request are refused once",
      `${post("/a", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")}${"XYZ\r\n\r\n".repeat(9_000)}`,
      ["400!"],
    ],
    [
      "behind a body in chunks are refused behind the answer",
      `${post("/a", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")}BAD\r\n\r\n`,
      ["/a", "400!"],
    ],
  ])("%s", async (_where, bytes, answers) => {
    const client = await open();
    client.socket.write(bytes);
    await new Promise((resolve) => setTimeout(resolve, 50));
    // It is read no more.
    client.socket.write("x");
    await answerAll();
    await client.closed;
    expect(answersIn(client.received())).toEqual(answers);
  });
});

describe.each([
  ["HTTP/1.1", get("/")],
  ["HTTP/2", openingWith(requestFrame({ ":path": "/" }))],
])("an answer over %s with a trailer that cannot be written", (version, request) => {
  it.each([
    ["that is sent at once", 10],
    ["that waits for the client", 100_000],
    ["that is sent in pieces", 1_000_000],
    ["that is empty", 0],
  ])("is refused before its head, with a body %s", async (_when, bytes) => {
    const client = await open();
    client.socket.write(request);
    await until(async () => waiting.length === 1, 1_000);
    const [exchange] = waiting as [Exchange];
    const body = Buffer.alloc(bytes, "x");
    const trailer = new HeaderList();
    trailer.append("x-trailer", "a\r\nb");
    await expect(exchange.respond({ status: 200, header: new HeaderList(), body, trailer })).rejects.toThrow(TypeError);
    await exchange.respond({ status: 500, header: new HeaderList(), body: "refused" });
    await until(async () => client.received().includes("refused"), 5_000);
    expect(exchange.httpVersion).toBe(version.slice("HTTP/".length));
    expect(client.received()).not.toContain("xxx");
    expect(exchange.record).toMatchObject({ status: 500, isWhole: true });
  });
});

describe("a body in chunks", () => {
  const chunks = (text: string, bytes: number) =>
    (text.match(new RegExp(`.{1,${bytes}}`, "g")) ?? []).map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
  const chunked = (text: string, bytes: number) =>
    post("/chunked", `Transfer-Encoding: chunked\r\n\r\n${chunks(text, bytes).join("")}0\r\n\r\n`);

  /** Answers with the bodies of the requests, as they come. */
  async function echo(count: number): Promise<void> {
    for (let made = 0; made < count; made++) {
      await until(async () => waiting.length > 0, 2_000);
      const next = waiting.shift() as Exchange;
      const body = Buffer.from(await next.readBody(1_000_000)).toString();
      await next.respond({ status: 200, header: new HeaderList(), body: `${next.path} ${body.length}` });
    }
  }

  it.each([
    ["that come at once", [70_000]],
    ["that come later", [60, 70_000]],
    ["in packets of any size", [1, 5, 4_095, 4_096, 4_097, 12_288, 50_000]],
  ])("is read, and so are the many requests around it: %s", async (_title, sizes) => {
    const client = await open();
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
    const text = "x".repeat(50_000);
    let bytes = [get("/first"), chunked(text, 100), ...paths.map(get), chunked(text, 500), get("/last")].join("");
    const echoed = echo(paths.length + 4);
    for (const size of [...sizes, bytes.length]) {
      client.socket.write(bytes.slice(0, size));
      bytes = bytes.slice(size);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await echoed;
    await until(async () => client.received().includes("/last 0"), 1_000);
    const expected = ["/first 0", "/chunked 50000", ...paths.map((path) => `${path} 0`), "/chunked 50000", "/last 0"];
    expect(answersIn(client.received())).toEqual(expected);
  });

  it.each([
    ["first", 0],
    ["among others", 40],
  ])("is read, and so are the requests behind it, though answers are not taken for a while: %s", async (_when, at) => {
    const client = await open();
    client.socket.pause();
    const requests = Array.from({ length: 100 }, (_, index) => get(`/${index}`)).toSpliced(at, 0, chunked("x", 1));
    const body = "x".repeat(1_000_000);
    let answered = 0;
    const answering = (async () => {
      while (answered < requests.length) {
        const next = waiting.shift();
        if (next === undefined) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        } else {
          answered += 1;
          void next.respond({ status: 200, header: HeaderList.from({ "x-path": next.path }), body });
        }
      }
    })();
    // More come when there is no room for answers; and room comes little by little.
    for (let sent = 0; sent < requests.length; sent += 20) {
      client.socket.write(requests.slice(sent, sent + 20).join(""));
      await new Promise((resolve) => setTimeout(resolve, 50));
      client.socket.read(3_000_000);
    }
    client.socket.resume();
    await answering;
    const paths = (text: string) => [...text.matchAll(/^(?:x-path: |(?:GET|POST) )(\S*)/gm)].map(([, path]) => path);
    await until(async () => paths(client.received()).length === requests.length, 20_000);
    expect(paths(client.received())).toEqual(paths(requests.join("")));
  });

  it("is read, and so is the request behind it, though there is no room for answers when it begins", async () => {
    const client = await open();
    client.socket.write(get("/first"));
    await echo(1);
    client.socket.pause();
    client.socket.write(get("/large"));
    await until(async () => waiting.length > 0, 1_000);
    const large = waiting.shift()?.respond({ status: 200, header: new HeaderList(), body: "x".repeat(20_000_000) });
    const bytes = chunked("x".repeat(50_000), 100) + get("/last");
    client.socket.write(bytes.slice(0, 100));
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.write(bytes.slice(100));
    client.socket.resume();
    await Promise.all([large, echo(2)]);
    await until(async () => client.received().includes("/last 0"), 2_000);
    expect(answersIn(client.received()).map((body) => body.replaceAll("x", ""))).toEqual([
      "/first 0",
      "",
      "/chunked 50000",
      "/last 0",
    ]);
  });

  it("is read behind a large body that waits to be read", async () => {
    const client = await open();
    client.socket.write(get("/a"));
    await echo(1);
    const large = `Content-Length: 70000\r\n\r\n${"x".repeat(70_000)}`;
    client.socket.write([post("/large", large), chunked("x".repeat(50_000), 100), get("/b")].join(""));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await echo(3);
    await until(async () => client.received().includes("/b 0"), 1_000);
    expect(answersIn(client.received())).toEqual(["/a 0", "/large 70000", "/chunked 50000", "/b 0"]);
  });

  it("of a byte each is read where they come together", async () => {
    const client = await open();
    client.socket.write(chunked("x".repeat(50_000), 1));
    await echo(1);
    await until(async () => client.received().includes("/chunked 50000"), 5_000);
  });
});

describe("pipelined requests", () => {
  it("are handled side by side as long as all of them are safe", async () => {
    const client = await open();
    const none = "Content-Length: 0\r\n\r\n";
    client.socket.write(get("/1") + get("/2") + post("/3", none) + get("/4") + post("/5", none));
    const handled: string[][] = [];
    for (let step = 0; step < 4; step += 1) {
      await until(async () => waiting.length > 0, 1_000);
      const begun = waiting.splice(0);
      handled.push(begun.map(({ path }) => path));
      for (const exchange of begun) {
        await exchange.respond({ status: 200, header: new HeaderList() });
      }
    }
    expect(handled).toEqual([["/1", "/2"], ["/3"], ["/4"], ["/5"]]);
  });
});

describe("an HTTP/2 connection that takes many calls back at once", () => {
  const cancel = Buffer.of(0, 0, 0, 8);
  const takenBack = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const stream = 2 * index + 1;
      return Buffer.concat([requestFrame({ ":path": "/" }, stream), frame("reset", { stream, payload: cancel })]);
    });

  it("is served", async () => {
    const client = await open();
    client.socket.write(openingWith(...takenBack(256)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.write(requestFrame({ ":path": "/next" }, 513));
    await until(async () => waiting.some(({ path }) => path === "/next"), 1_000);
  });

  it.each([
    ["as it opens", openingWith(...takenBack(700))],
    ["later", openingWith(), ...takenBack(700)],
  ])("is ended before most of them are looked at: %s", async (_when, ...bytes) => {
    const client = await open();
    const [first, ...rest] = bytes;
    client.socket.write(first);
    await once(client.socket, "data");
    client.socket.write(Buffer.concat(rest));
    await client.closed;
    expect(waiting.length).toBeLessThanOrEqual(256);
    expect(bursts).toEqual(["127.0.0.1"]);
    // GOAWAY with ENHANCE_YOUR_CALM, after stream 513, and its reason.
    const goAway = Buffer.from("07000000000000000201" + "0000000b", "hex").toString("latin1");
    expect(client.received()).toContain(`${goAway}too many streams at once`);
  });
});

it("an answer without a body over HTTP/2 to a request that goes on counts as sent", async () => {
  const session = connectHttp2(`http://127.0.0.1:${listener.address.port}`).on("error", () => {});
  onTestFinished(() => session.destroy());
  session.request({ ":method": "POST", ":path": "/unread" }, { endStream: false }).on("error", () => {});
  // Requests of the connections that were ended before may still come.
  const isAsked = ({ path }: Exchange) => path === "/unread";
  await until(async () => waiting.some(isAsked), 1_000);
  const exchange = waiting.find(isAsked) as Exchange;
  await exchange.respond({ status: 401, header: new HeaderList() });
  expect(exchange.record).toMatchObject({ status: 401, isWhole: true });
});

describe("an HTTP/2 connection whose client takes back answers that are under way", () => {
  /** Asks for an answer, takes it back when it has begun, and resolves to the code of the reset. */
  async function takeBack(session: ClientHttp2Session): Promise<number> {
    const stream = session.request({ ":path": "/" }).on("error", () => {});
    stream.on("response", () => setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), 20));
    await new Promise((resolve) => stream.on("close", resolve));
    return stream.rstCode;
  }

  it.each([200_000, 1_000_000])("goes on to be served: %i bytes", async (bytes) => {
    const session = connectHttp2(`http://127.0.0.1:${listener.address.port}`).on("error", () => {});
    const goAway = vi.fn();
    session.on("goaway", goAway);
    await once(session, "remoteSettings");
    const body = Buffer.alloc(bytes);
    const answer = (exchange: Exchange) => exchange.respond({ status: 200, header: new HeaderList(), body });
    const answering = setInterval(() => waiting.splice(0).map(answer), 5);
    for (let round = 0; round < 20; round++) {
      const codes = await Promise.all(Array.from({ length: 10 }, () => takeBack(session)));
      expect(new Set(codes)).toEqual(new Set([constants.NGHTTP2_CANCEL]));
    }
    clearInterval(answering);
    expect(goAway).not.toHaveBeenCalled();
    session.destroy();
  });
});

it.each(['"x" ', ' "x"', '\t"x"\t ', " "])(
  "finds fault with a header over HTTP/2 that has spaces around its value: %j",
  async (value) => {
    const session = connectHttp2(`http://127.0.0.1:${listener.address.port}`);
    onTestFinished(() => session.destroy());
    session.request({ ":path": "/", "if-match": value }).on("error", () => {});
    await until(async () => waiting.length === 1, 5_000);
    // A header that was dropped would make a guarded write an unguarded one.
    expect(waiting[0]?.fault).toMatchObject({ kind: "malformed" });
    await answerAll();
  },
);

it("reads a header over HTTP/2 that has no value", async () => {
  const session = connectHttp2(`http://127.0.0.1:${listener.address.port}`);
  onTestFinished(() => session.destroy());
  session.request({ ":path": "/", "if-match": "" }).on("error", () => {});
  await until(async () => waiting.length === 1, 5_000);
  expect(waiting[0]?.headerLines("if-match")).toEqual([""]);
  expect(waiting[0]?.fault).toBeUndefined();
  await answerAll();
});

it.each(['"x" ', ' "x"', '\t"x"\t ', '"x"'])(
  "reads a header over HTTP/1.1 without the spaces around it: %j",
  async (value) => {
    const client = await open();
    client.socket.write(`GET / HTTP/1.1\r\nHost: x\r\nIf-Match:${value}\r\n\r\n`);
    await until(async () => waiting.length === 1, 5_000);
    expect(waiting[0]?.headerLines("if-match")).toEqual(['"x"']);
    await answerAll();
  },
);

/**
 * The states of this machine's connections, as Linux tells them. The third field behind its ends names
 * the timer that runs: 02 is keepalive's.
 */
const connectionStates = "/proc/net/tcp";

it.runIf(existsSync(connectionStates))("asks whether a silent peer is still there", async () => {
  const { socket } = await open();
  const ports = [listener.address.port, socket.localPort ?? 0];
  const ends = ports.map((port) => `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
  await vi.waitFor(() => {
    const states = readFileSync(connectionStates, "utf8").split("\n");
    const [, fields = ""] = states.find((line) => line.includes(ends))?.split(ends) ?? [];
    expect(fields.trim().split(/\s+/)[2]).toMatch(/^02:/);
  });
});
