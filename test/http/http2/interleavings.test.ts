import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";
import { until } from "../../support/deadline.ts";
import { amount } from "../../support/long.ts";
import { Random } from "../../support/random.ts";
import { connectNode, echo, type Served, serve } from "./served.ts";

/** Bytes that differ from place to place, of which bodies are pieces. */
const source = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, i) => (i * 31) ^ (i >> 8)));

/** A request under way, as its client sees it. */
interface Asked {
  readonly stream: ClientHttp2Stream;
  readonly path: string;
  /** All of the answer's body, if the request ends as it is. */
  expected: Buffer;
  readonly received: Buffer[];
  isEnded: boolean;
  isTakenBack: boolean;
  isClosed: boolean;
}

/** Answers as the path says: with the body of the request, or with so many bytes at once or in pieces. */
async function answer(stream: Http2Stream): Promise<void> {
  const [, how, count] = stream.head.target.split("/");
  const body = source.subarray(0, Number(count));
  if (how === "echo") {
    await echo(stream);
    return;
  }
  // The client may send more than the window before it ends its request.
  stream.incoming.stream.resume();
  stream.respond(200, ["x-path", stream.head.target, "x-kept", "kept"], false);
  if (how === "whole") {
    stream.endWith(body, body.length, stream.id % 3 === 0 ? ["x-trailer", `${stream.id}`] : undefined);
    return;
  }
  for (let at = 0; at < body.length && !stream.isClosed; at += 10_007) {
    stream.write(body.subarray(at, at + 10_007));
    await (stream.id % 3 === 0 ? setImmediate() : stream.drained());
  }
  stream.end();
}

/** One client, which does one thing or another. */
class Client {
  readonly asked: Asked[] = [];
  readonly errors: unknown[] = [];
  readonly #session: ClientHttp2Session;
  readonly #random: Random;

  constructor(session: ClientHttp2Session, random: Random) {
    this.#session = session;
    this.#random = random;
    session.on("error", (error) => this.errors.push(error));
    session.on("goaway", (code) => this.errors.push(`GOAWAY ${code}`));
  }

  get open(): Asked[] {
    return this.asked.filter(({ isClosed }) => !isClosed);
  }

  act(): void {
    const random = this.#random;
    const { open } = this;
    const one = open.length === 0 ? undefined : random.pick(open);
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        if (open.length < 100) {
          this.#ask();
        }
        return;
      case 3:
      case 4:
      case 5:
        if (one !== undefined && !one.isEnded && !one.isTakenBack) {
          this.#write(one);
        }
        return;
      case 6:
        if (one !== undefined && random.oneIn(3)) {
          one.isTakenBack = true;
          one.stream.close(constants.NGHTTP2_CANCEL);
        }
        return;
      case 7:
        one?.stream[random.oneIn(2) ? "pause" : "resume"]();
        return;
      case 8:
        if (this.#session.pendingSettingsAck === false) {
          const initialWindowSize = random.pick([0, 1, 100, 16_384, 65_535, 1_000_000]);
          this.#session.settings({ initialWindowSize, headerTableSize: random.pick([0, 100, 4_096, 65_536]) });
        }
        return;
      default:
        this.#session.setLocalWindowSize(65_535 + random.below(1_000_000));
    }
  }

  #ask(): void {
    const random = this.#random;
    const how = random.pick(["echo", "echo", "whole", "pieces"]);
    const count = random.pick([0, 1, random.below(1_000), random.below(source.length)]);
    const path = `/${how}/${count}`;
    const headers = { ":method": "POST", ":path": path, "x-random": String(random.below(20)) };
    const stream = this.#session.request(headers, { endStream: false });
    const expected = how === "echo" ? Buffer.alloc(0) : source.subarray(0, count);
    const asked: Asked = { stream, path, expected, received: [], isEnded: false, isTakenBack: false, isClosed: false };
    stream.on("data", (chunk: Buffer) => asked.received.push(chunk));
    stream.on("error", (error) => this.errors.push(error));
    stream.on("close", () => {
      asked.isClosed = true;
    });
    this.asked.push(asked);
  }

  #write(asked: Asked): void {
    const random = this.#random;
    const at = random.below(source.length);
    const piece = source.subarray(at, at + random.pick([0, 1, 1_000, 50_000]));
    if (asked.path.startsWith("/echo")) {
      asked.expected = Buffer.concat([asked.expected, piece]);
    }
    asked.isEnded = random.oneIn(3);
    asked.stream[asked.isEnded ? "end" : "write"](piece);
  }

  /** Ends all requests, and reads all answers. */
  async finish(): Promise<void> {
    await until(async () => this.#session.pendingSettingsAck === false, 5_000);
    this.#session.settings({ initialWindowSize: 65_535 });
    for (const asked of this.open) {
      asked.stream.resume();
      if (!asked.isEnded && !asked.isTakenBack) {
        asked.stream.end();
      }
    }
    // Node's client sometimes keeps a stream that it has taken back while a write of it waited.
    const areDone = async () => this.open.every(({ isTakenBack }) => isTakenBack);
    await until(areDone, 2_000).catch(() => this.#takeBackAnswered());
    await until(areDone, 10_000);
  }

  /** Takes back streams that have their answers. Node's client may leave a write unsent although the windows are open. */
  #takeBackAnswered(): void {
    for (const asked of this.open) {
      const answered = asked.received.reduce((sum, { length }) => sum + length, 0);
      if (!asked.path.startsWith("/echo") && answered === asked.expected.length) {
        asked.isTakenBack = true;
        asked.stream.close(constants.NGHTTP2_CANCEL);
      }
    }
  }
}

async function run(served: Served, random: Random): Promise<void> {
  const session = await connectNode(served);
  const client = new Client(session, random);
  for (let turn = 0; turn < 300; turn++) {
    for (let acts = 1 + random.below(8); acts > 0; acts--) {
      client.act();
    }
    await (random.oneIn(10) ? pause(1) : setImmediate());
  }
  await client.finish();
  expect(client.errors).toEqual([]);
  for (const { stream, path, expected, received, isTakenBack } of client.asked) {
    const body = Buffer.concat(received);
    if (isTakenBack) {
      expect([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL]).toContain(stream.rstCode);
      expect(body.equals(expected.subarray(0, body.length)), path).toBe(true);
    } else {
      const found = { path, code: stream.rstCode, isWhole: body.equals(expected) };
      expect(found).toEqual({ path, code: constants.NGHTTP2_NO_ERROR, isWhole: true });
    }
  }
  await until(async () => served.openCount() === 0, 5_000);
  session.destroy();
}

it("every stream ends with its whole answer, or the client's own reset, whatever is done meanwhile", async () => {
  const served = await serve(answer);
  const first = Date.now();
  for (let round = 0; round < amount(20, 300); round++) {
    const seed = first + round;
    try {
      await run(served, new Random(seed));
    } catch (error) {
      throw new Error(`with seed ${seed}`, { cause: error });
    }
  }
}, 300_000);
