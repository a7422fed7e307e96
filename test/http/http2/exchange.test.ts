import { beforeEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../../src/http/exchange.ts";
import { endStream, frame, requestFrame } from "../../security/http2-frames.ts";
import { until } from "../../support/deadline.ts";
import { listenWith } from "../listening.ts";
import { type BareClient, openBare, postFrame, resetFrame, windowFrame } from "./bare-client.ts";

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

describe("an answer that is larger than the client's window", () => {
  const body = Buffer.alloc(200_000, "x");

  /** Answers with the body, and resolves when the client has what its window allows. */
  async function answerHalf(): Promise<[client: BareClient, exchange: Exchange, answered: Promise<void>]> {
    const [client, exchange] = await ask(requestFrame({ ":path": "/" }));
    const answered = exchange.respond({ status: 200, header: new Headers(), body });
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
    const answered = exchange.respond({ status: 200, header: new Headers(), body });
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
