import { setImmediate, setTimeout } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createClientAddress } from "../../src/http/client-address.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import { HeaderList } from "../../src/http/header-list.ts";
import type { Listener } from "../../src/http/listener.ts";
import { until } from "../support/deadline.ts";
import { type Client, listenWith, openTo } from "./listening.ts";

let listener: Listener;
let answered: number;
let handle: (exchange: Exchange) => Promise<void>;

beforeEach(async () => {
  answered = 0;
  handle = (exchange) => exchange.respond({ status: 200, header: new HeaderList(), body: Buffer.alloc(100_000) });
  listener = await listenWith({
    async handle(exchange) {
      answered += 1;
      await handle(exchange);
    },
  });
});

const open = () => openTo(listener);

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

it("a client that sends requests, and reads no answers, has few of them answered before it reads on", async () => {
  const { socket } = await open();
  socket.pause();
  socket.write(request.repeat(1_000));
  let before = -1;
  await until(async () => {
    const isSettled = answered > 0 && answered === before;
    before = answered;
    await setTimeout(50);
    return isSettled;
  }, 5_000);
  // What the system takes, and 32 more: each takes as much as 100 KB.
  expect(answered).toBeLessThan(300);
  socket.resume();
  await until(async () => answered === 1_000, 5_000);
});

it("a request whose body is broken from its first bytes is not begun, and the one before it is answered", async () => {
  const { socket, received, closed } = await open();
  socket.write(`${request}POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`);
  await closed;
  expect(received().match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  expect(answered).toBe(1);
});

it("a request whose body is broken keeps its id and its address", async () => {
  const broken: (readonly [id: string, address: string])[] = [];
  const faulty = await listenWith({
    handle: async () => {},
    async handleFault(exchange) {
      broken.push([exchange.requestId, exchange.clientAddress]);
      await exchange.respond({ status: 400, header: new HeaderList() });
    },
    clientAddress: createClientAddress(["127.0.0.1"]),
  });
  for (const bytes of [
    "POST / HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nX-Forwarded-For: 192.0.2.7\r\nTransfer-Encoding: chunked\r\n\r\nZZ",
    "no request\r\n\r\n",
  ]) {
    const { socket, closed } = await openTo(faulty);
    socket.write(`${bytes}\r\n`);
    await closed;
  }
  expect(broken).toEqual([
    ["mine", "192.0.2.7"],
    [expect.any(String), "127.0.0.1"],
  ]);
});

it.each([
  "GET / HTTP/1.1\nHost: x\n\n",
  "GET / HTTP/1.1\nHost: x\n\r\n",
  "GET / HTTP/1.1\r\nHost: x\r\n\n",
  "POST / HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}",
])("a head whose lines end in a line feed alone is refused when it comes: %j", async (head) => {
  const { socket, received, closed } = await open();
  const start = performance.now();
  socket.write(head);
  await closed;
  expect(received()).toMatch(/^HTTP\/1.1 400 /);
  // After a second, it would be late.
  expect(performance.now() - start).toBeLessThan(900);
});

const chunkedHead = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

it("a body of 4,000 small chunks is read when they come together", async () => {
  let read = 0;
  handle = async (exchange) => {
    read = (await exchange.readBody(100_000)).length;
    await exchange.respond({ status: 200, header: new HeaderList() });
  };
  const { socket, received } = await open();
  socket.write(`${chunkedHead}${"a\r\n0123456789\r\n".repeat(4_000)}0\r\n\r\n`);
  await until(async () => received() !== "", 5_000);
  expect(received()).toMatch(/^HTTP\/1.1 200 /);
  expect(read).toBe(40_000);
});

it("a body that comes byte by byte is refused with 400, and was not read", { timeout: 30_000 }, async () => {
  let failure: unknown;
  handle = async (exchange) => {
    await exchange.readBody(100_000).catch((reason) => {
      failure = reason;
    });
  };
  const patient = await listenWith({ handle: (exchange) => handle(exchange), requestTimeoutMs: 30_000 });
  const { socket, received } = await openTo(patient);
  socket.write(chunkedHead);
  for (let sent = 0; sent < 20_000 && received() === ""; sent++) {
    socket.write("1\r\n \r\n");
    await setImmediate();
  }
  expect(received()).toMatch(/^HTTP\/1.1 400 /);
  expect(failure).toMatchObject({ kind: "canceled" });
});

it("empty lines before a request are dropped as they come", async () => {
  const { socket } = await open();
  socket.write("\r\n".repeat(8_000_000));
  socket.write(request);
  await until(async () => answered === 1, 10_000);
});

it("a client that was idle has all of its time for the next head", async () => {
  const { socket } = await open();
  socket.write(request);
  await until(async () => answered === 1, 1_000);
  await setTimeout(2_500);
  socket.write(request.slice(0, 10));
  await setTimeout(700);
  socket.write(request.slice(10));
  await until(async () => answered === 2, 1_000);
});

it("a client that begins its first head a byte at a time is cut off in time", async () => {
  const { socket } = await open();
  socket.write("\r\n\r\n");
  const dripping = setInterval(() => socket.write("\r\n"), 100);
  onTestFinished(() => clearInterval(dripping));
  await until(async () => socket.destroyed, 4_000);
});

/** Makes the clock stand still, but for `vi.advanceTimersByTime`, and listens. A head has 30 seconds. */
async function listenAtRest(): Promise<void> {
  const toFake = ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] as const;
  vi.useFakeTimers({ toFake: [...toFake] });
  onTestFinished(() => void vi.useRealTimers());
  listener = await listenWith({
    handle: (exchange) => handle(exchange),
    handleFault: (exchange) => {
      const body = exchange.fault?.kind ?? "";
      return exchange.respond({ status: 408, header: new HeaderList(), body });
    },
    requestTimeoutMs: 30_000,
  });
}

/** Resolves when the server has what was sent before: it has answered a later request of another client. */
async function settle(): Promise<void> {
  const { socket, received } = await open();
  socket.write(request);
  await until(async () => received().length > 100_000, 1_000);
}

describe("a client that is silent for too long between its requests", () => {
  /** Sends these bytes, 40 seconds after an answer. */
  async function sendLate(...pieces: readonly string[]): Promise<Client> {
    await listenAtRest();
    const client = await open();
    client.socket.write(request);
    await until(async () => client.received().length > 100_000, 1_000);
    vi.advanceTimersByTime(40_000);
    for (const piece of pieces) {
      client.socket.write(piece);
      await settle();
    }
    return client;
  }

  it.each([
    ["nothing", []],
    ["empty lines", ["\r\n", "\r\n\r\n"]],
    ["an empty line in two pieces", ["\r", "\n"]],
    ["half of an empty line", ["\r"]],
  ])("is cut off, if it sends %s meanwhile", async (_what, pieces) => {
    const client = await sendLate(...pieces);
    vi.advanceTimersByTime(30_000);
    await client.closed;
    expect(client.received().match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
  });

  it("may begin a request, with empty lines before it", async () => {
    const client = await sendLate("\r", "\n\r", `\n${request.slice(0, 10)}`);
    vi.advanceTimersByTime(1_000);
    client.socket.write(request.slice(10));
    await until(async () => client.received().length > 200_000, 1_000);
  });
});

describe("a client whose first bytes may be those of HTTP/2", () => {
  it.each([
    ["nothing more comes", ["P"]],
    ["the others come late", ["P", "OST / HTTP/1.1\r\nHost: "]],
    ["they come one by one", ["P", "R", "O", "P"]],
  ])("has as much time for its first head as any other: %s", async (_when, pieces) => {
    await listenAtRest();
    const client = await open();
    for (const piece of pieces) {
      client.socket.write(piece);
      await settle();
      await vi.advanceTimersByTimeAsync(28_000 / pieces.length);
    }
    expect(client.socket.destroyed).toBe(false);
    // Seconds begin at any time.
    await vi.advanceTimersByTimeAsync(2_000);
    await settle();
    await vi.advanceTimersByTimeAsync(2_000);
    await client.closed;
    expect(client.received()).toMatch(/^HTTP\/1.1 408 .*\r\n\r\nrequest_timeout$/s);
  });

  it("has no more time for the rest of the preface", async () => {
    await listenAtRest();
    const client = await open();
    client.socket.write("PRI");
    await settle();
    await vi.advanceTimersByTimeAsync(28_000);
    client.socket.write(" * HTTP/2.0\r\n");
    await settle();
    await vi.advanceTimersByTimeAsync(2_000);
    await client.closed;
  });
});

it("100 Continue waits for the answers that are owed before", async () => {
  const first = Promise.withResolvers<void>();
  let asked = 0;
  handle = async (exchange) => {
    if (exchange.path === "/first") {
      await first.promise;
    } else {
      asked += 1;
      await exchange.readBody(10);
    }
    await exchange.respond({ status: 200, header: new HeaderList(), body: exchange.path });
  };
  const { socket, received } = await open();
  socket.write("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.write("GET /second HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  await until(async () => asked === 1, 1_000);
  await setTimeout(50);
  expect(received()).toBe("");
  first.resolve();
  await until(async () => received().includes("100 Continue"), 1_000);
  expect(received().indexOf("/first")).toBeLessThan(received().indexOf("100 Continue"));
  socket.write("{}");
  await until(async () => received().endsWith("/second"), 1_000);
});

it.each(["Content-Length: 5", "Transfer-Encoding: chunked"])(
  "a client that is refused before it is asked for its body is told that the connection ends: %s",
  async (framing) => {
    handle = (exchange) => exchange.respond({ status: 401, header: new HeaderList(), body: "no" });
    const { socket, received } = await open();
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${framing}\r\n\r\n`);
    await until(async () => received().endsWith("no"), 1_000);
    expect(received()).toMatch(/^HTTP\/1.1 401 .*connection: close\r\n/s);
    socket.write(request);
    await until(async () => socket.destroyed, 2_000);
    expect(answered).toBe(1);
  },
);

it("a client that sends its body unasked goes on to use its connection", async () => {
  handle = (exchange) => exchange.respond({ status: 401, header: new HeaderList(), body: "no" });
  const { socket } = await open();
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{`);
  await until(async () => answered === 1, 1_000);
  socket.write(`}${request}`);
  await until(async () => answered === 2, 1_000);
});

describe("a client that is refused before its body has come", () => {
  const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n";

  beforeEach(async () => {
    await listenAtRest();
    handle = (exchange) => exchange.respond({ status: 401, header: new HeaderList() });
  });

  /** Sends a refused request with a half of its body, and waits for the answer. */
  async function sendHalf(): Promise<Client> {
    const client = await open();
    client.socket.write(`${head}${"x".repeat(10)}`);
    await until(async () => client.received() !== "", 1_000);
    return client;
  }

  /** Sends a piece, and waits until the server has it. What the server did before reaches the client meanwhile. */
  async function send({ socket }: Client, piece: string): Promise<void> {
    socket.write(piece);
    const other = await open();
    other.socket.write(request);
    await until(async () => other.received() !== "", 1_000);
  }

  /** Expects that a client whose answer has just come is cut off after a second. */
  async function expectSecond(client: Client): Promise<void> {
    vi.advanceTimersByTime(900);
    await send(client, "");
    expect(client.socket.closed).toBe(false);
    vi.advanceTimersByTime(100);
    await client.closed;
  }

  it("may send the rest slowly, and goes on to use its connection", async () => {
    const client = await sendHalf();
    for (let sent = 0; sent < 5; sent++) {
      vi.advanceTimersByTime(4_000);
      await send(client, "xx");
    }
    vi.advanceTimersByTime(10_000);
    client.socket.write(request);
    await until(async () => client.received().match(/HTTP\/1.1 401/g)?.length === 2, 1_000);
  });

  it("is cut off after five seconds of silence", async () => {
    const client = await sendHalf();
    await send(client, "x");
    vi.advanceTimersByTime(4_900);
    await send(client, "x");
    vi.advanceTimersByTime(4_900);
    await send(client, "");
    expect(client.socket.closed).toBe(false);
    vi.advanceTimersByTime(100);
    await client.closed;
  });

  it("is cut off when the request has had its time", async () => {
    const client = await sendHalf();
    for (let seconds = 3; seconds < 30; seconds += 3) {
      vi.advanceTimersByTime(3_000);
      await send(client, "x");
    }
    expect(client.socket.closed).toBe(false);
    vi.advanceTimersByTime(3_000);
    await client.closed;
  });

  it("has a second, if it gets the answer in place of 100 Continue", async () => {
    const client = await open();
    client.socket.write(head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"));
    await until(async () => client.received() !== "", 1_000);
    await expectSecond(client);
  });

  it("has a second left, if the answer comes after that time", async () => {
    handle = async (exchange) => {
      vi.advanceTimersByTime(exchange.method === "POST" ? 40_000 : 0);
      await exchange.respond({ status: 401, header: new HeaderList() });
    };
    const client = await sendHalf();
    await expectSecond(client);
  });
});

it("what follows the last request of a connection is not done", async () => {
  const { socket } = await open();
  socket.write(request.replace("Host", "Connection: close\r\nHost") + request);
  await until(async () => socket.destroyed, 1_000);
  expect(answered).toBe(1);
});

it("a body that breaks off leaves the requests before it their answers", async () => {
  const first = Promise.withResolvers<void>();
  handle = async (exchange) => {
    await (exchange.path === "/first" ? first.promise : exchange.readBody(1_000).catch(() => {}));
    await exchange.respond({ status: 200, header: new HeaderList(), body: exchange.path });
  };
  const { socket, received } = await open();
  socket.write("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.write("GET /second HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  await until(async () => answered === 2, 1_000);
  socket.write("zz\r\n");
  await setTimeout(50);
  first.resolve();
  await until(async () => socket.destroyed, 2_000);
  expect(received()).toContain("/first");
  expect(received()).not.toContain("/second");
});

it("a body that breaks off holds up no answer that waits for the client to read", async () => {
  const size = 40_000_000;
  let done = 0;
  handle = async (exchange) => {
    const body = exchange.path === "/large" ? Buffer.alloc(size) : "no";
    await exchange.respond({ status: 200, header: new HeaderList(), body });
    done += 1;
  };
  const { socket, received } = await open();
  socket.pause();
  socket.write("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.write("GET /second HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  await until(async () => answered === 2, 1_000);
  await setTimeout(200);
  socket.write("zz\r\n");
  await until(async () => done === 1, 1_000);
  socket.resume();
  await until(async () => received().length > size, 5_000);
  await until(async () => done === 2, 1_000);
});

describe("a client that goes away while it waits", () => {
  const silent = request.replace("/", "/silent");
  let left: Promise<void>;

  beforeEach(() => {
    const { promise, resolve } = Promise.withResolvers<void>();
    left = promise;
    handle = async (exchange) => {
      if (exchange.path === "/silent") {
        exchange.signal.addEventListener("abort", () => resolve());
        await left;
      } else {
        await exchange.respond({ status: 200, header: new HeaderList() });
      }
    };
  });

  it.each([
    ["half of a head", "G"],
    ["half of a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"],
  ])("leaves nothing behind, if it has sent %s", async (_what, half) => {
    const { socket } = await open();
    socket.write(silent);
    await until(async () => answered === 1, 1_000);
    socket.write(half, () => socket.resetAndDestroy());
    await left;
  });

  it.each([
    ["more requests than are taken", request.repeat(50)],
    ["a body that nobody reads", `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n${"x".repeat(200_000)}`],
  ])("is given up after a while, if it has sent %s", async (_what, rest) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    listener = await listenWith({ handle: (exchange) => handle(exchange) });
    const { socket } = await open();
    socket.write(silent + rest);
    await setTimeout(100);
    socket.destroy();
    await setTimeout(100);
    vi.advanceTimersByTime(130_000);
    await left;
  });
});
