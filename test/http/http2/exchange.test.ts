import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Exchange } from "../../../src/http/exchange.ts";
import { HeaderList } from "../../../src/http/header-list.ts";
import { ErrorCode } from "../../../src/http/http2/frames.ts";
import { endHeaders, endStream, frame, headerBlock, requestFrame } from "../../security/http2-frames.ts";
import { until } from "../../support/deadline.ts";
import { listenWith } from "../listening.ts";
import { type BareClient, openBare, postFrame, resetFrame, windowFrame } from "./bare-client.ts";
import { literal } from "./hpack-bytes.ts";

let port: number;
/** The exchanges that wait for their answers. */
let waiting: Exchange[];

beforeEach(async () => {
  waiting = [];
  const listener = await listenWith({ handle: async (exchange) => void waiting.push(exchange) });
  port = listener.address.port;
});

/** Sends a request, and resolves to the client and to the exchange. */
async function ask(...request: readonly Buffer[]): Promise<[BareClient, Exchange]> {
  const client = await openBare({ port }, ...request);
  await until(async () => waiting.length === 1, 1_000);
  return [client, waiting[0] as Exchange];
}

it("finds fault with a repeated Host, even of the same value", async () => {
  const head = { ":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/" };
  const host = literal("host", "x");
  const flags = endHeaders | endStream;
  const payload = Buffer.concat([headerBlock(head), host, host]);
  const [, exchange] = await ask(frame("headers", { stream: 1, flags, payload }));
  expect(exchange.fault).toMatchObject({ kind: "malformed" });
});

describe("an answer that is larger than the client's window", () => {
  const body = Buffer.alloc(200_000, "x");

  /** Answers with the body, and resolves when the client has what its window allows. */
  async function answerHalf(): Promise<[client: BareClient, exchange: Exchange, answered: Promise<void>]> {
    const [client, exchange] = await ask(requestFrame({ ":path": "/" }));
    const answered = exchange.respond({ status: 200, header: new HeaderList(), body });
    await client.until(() => client.bodyOf(1).length === 65_535 || undefined);
    await client.settle();
    return [client, exchange, answered];
  }

  it("counts as sent when the client has made room for all of it", async () => {
    const [client, exchange, answered] = await answerHalf();
    expect(exchange.record.isWhole).toBe(false);
    client.send(windowFrame(body.length), windowFrame(body.length, 1));
    await answered;
    expect(exchange.record).toMatchObject({ status: 200, isWhole: true, responseBytes: body.length });
    await client.find({ type: "data", stream: 1, flags: endStream });
  });

  it.each<[how: string, goAway: (client: BareClient) => unknown]>([
    ["takes it back", (client) => client.send(resetFrame(1))],
    ["closes its connection", (client) => client.socket.destroy()],
  ])("does not count as sent when the client %s half-way", async (_how, goAway) => {
    const [client, exchange, answered] = await answerHalf();
    goAway(client);
    await answered;
    expect(exchange.record).toMatchObject({ status: 200, isWhole: false });
  });

  it("makes the client send the rest of its request, which it may do first", async () => {
    const [client, exchange] = await ask(postFrame());
    const answered = exchange.respond({ status: 200, header: new HeaderList(), body });
    for (let sent = 0; sent < 100_000; sent += 10_000) {
      client.send(frame("data", { stream: 1, payload: Buffer.alloc(10_000) }));
      await client.settle();
    }
    client.send(frame("data", { stream: 1, flags: endStream }));
    client.send(windowFrame(body.length), windowFrame(body.length, 1));
    await answered;
    expect(exchange.record.isWhole).toBe(true);
  });
});

it("an answer before the end of the request is followed by a reset after a second, though more of it comes", async () => {
  const [client, exchange] = await ask(postFrame());
  await exchange.respond({ status: 401, header: new HeaderList(), body: "answer" });
  const answeredAtMs = performance.now();
  const trickle = setInterval(() => client.send(frame("data", { stream: 1, payload: Buffer.from("x") })), 200);
  onTestFinished(() => clearInterval(trickle));
  expect(await client.resetOf(1)).toBe(ErrorCode.noError);
  expect(performance.now() - answeredAtMs).toBeLessThan(3_000);
});

describe("a client that waits for 100 Continue", () => {
  const post = (expectation: string) => postFrame(1, { expect: expectation });
  const piece = (text: string, flags = 0) => frame("data", { stream: 1, flags, payload: Buffer.from(text) });
  const statuses = ({ frames }: BareClient) =>
    frames.filter(({ type }) => type === "headers").map(({ fields, flags }) => `${fields[0]} ${flags & endStream}`);

  it.each(["100-continue", "100-Continue"])("is told to send its body when that is read: %s", async (expectation) => {
    const [client, exchange] = await ask(post(expectation));
    const reading = exchange.readBody(100);
    await client.find({ type: "headers", stream: 1 });
    client.send(piece("body", endStream));
    expect(Buffer.from(await reading).toString()).toBe("body");
    await exchange.respond({ status: 200, header: new HeaderList(), body: "answer" });
    await client.find({ type: "data", stream: 1, flags: endStream });
    expect(statuses(client)).toEqual([":status: 100 0", ":status: 200 0"]);
  });

  it("gets its answer alone, if nobody reads its body", async () => {
    const [client, exchange] = await ask(post("100-continue"));
    await exchange.respond({ status: 401, header: new HeaderList(), body: "answer" });
    await client.find({ type: "data", stream: 1, flags: endStream });
    expect(statuses(client)).toEqual([":status: 401 0"]);
  });

  it("gets its answer alone, if its Content-Length is too large", async () => {
    const [client, exchange] = await ask(postFrame(1, { expect: "100-continue", "content-length": "101" }));
    await expect(exchange.readBody(100)).rejects.toMatchObject({ kind: "body_too_large" });
    await exchange.respond({ status: 413, header: new HeaderList(), body: "answer" });
    await client.find({ type: "data", stream: 1, flags: endStream });
    expect(statuses(client)).toEqual([":status: 413 0"]);
  });

  it.each<[how: string, head: Buffer, before: Buffer[], after: Buffer[]]>([
    ["has begun to send its body", post("100-continue"), [piece("bo")], [piece("dy", endStream)]],
    ["has sent its body", post("100-continue"), [piece("body", endStream)], []],
    ["expects something else", post("100-continues"), [], [piece("body", endStream)]],
    ["expects nothing", postFrame(), [], [piece("body", endStream)]],
  ])("is told nothing, if it %s", async (_how, head, before, after) => {
    const [client, exchange] = await ask(head, ...before);
    const reading = exchange.readBody(100);
    client.send(...after);
    expect(Buffer.from(await reading).toString()).toBe("body");
    await exchange.respond({ status: 200, header: new HeaderList(), body: "answer" });
    await client.find({ type: "data", stream: 1, flags: endStream });
    expect(statuses(client)).toEqual([":status: 200 0"]);
  });

  it("is told nothing more, if it has taken its request back", async () => {
    const [client, exchange] = await ask(post("100-continue"));
    client.send(resetFrame(1));
    await client.settle();
    await expect(exchange.readBody(100)).rejects.toMatchObject({ kind: "canceled" });
    await client.settle();
    expect(statuses(client)).toEqual([]);
  });
});
