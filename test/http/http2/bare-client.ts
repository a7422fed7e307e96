import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { HeaderDecoder } from "../../../src/http/http2/header-decoder.ts";
import { endHeaders, frame, frameTypes, headerBlock, openingWith } from "../../security/http2-frames.ts";
import type { Served } from "./served.ts";

/** A frame that has come from the server. */
export interface Frame {
  readonly type: keyof typeof frameTypes;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
  /** The fields of HEADERS, as texts. */
  readonly fields: readonly string[];
}

/** The flags that the helpers of `http2-frames.ts` do not have. */
export const padded = 8;
export const priority = 0x20;

/** How long a frame may take to come, in milliseconds. */
const deadlineMs = 10_000;

/** A client that sends and takes bare frames. */
export class BareClient {
  readonly socket: Socket;
  /** All frames that have come, in order. */
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  readonly #decoder = new HeaderDecoder(1024 * 1024);
  #rest = Buffer.alloc(0);
  #look: (() => void)[] = [];
  #pings = 0;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.once("close", () => this.#lookAgain());
    socket.on("data", (bytes) => this.#take(bytes as Buffer));
  }

  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** The first frame of these that has come or comes. Rejects where none comes in time, or the connection closes. */
  find(what: Partial<Frame>): Promise<Frame> {
    const isIt = (found: Frame) => Object.entries(what).every(([key, value]) => found[key as keyof Frame] === value);
    return this.until(() => this.frames.find(isIt), JSON.stringify(what));
  }

  /** Resolves to what `look` finds, once it finds it. */
  until<T>(look: () => T | undefined, what = "that"): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = () => {
        const seen = this.frames.slice(-5).map(({ type, stream, payload }) => `${type} ${stream} ${payload.length}`);
        reject(new Error(`${what} has not come; the last frames are ${seen.join(", ")}`));
      };
      const timer = setTimeout(fail, deadlineMs);
      const tryNow = () => {
        const found = look();
        if (found !== undefined) {
          clearTimeout(timer);
          this.#look = this.#look.filter((other) => other !== tryNow);
          resolve(found);
        } else if (this.socket.destroyed) {
          clearTimeout(timer);
          fail();
        }
      };
      this.#look.push(tryNow);
      tryNow();
    });
  }

  /** Resolves when the server has taken all that was sent before. */
  async settle(): Promise<void> {
    this.#pings += 1;
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(this.#pings);
    this.send(frame("ping", { payload }));
    await this.until(() => this.frames.find((found) => found.type === "ping" && found.payload.equals(payload)), "ack");
  }

  /** What has come of a stream's body. */
  bodyOf(stream: number): Buffer {
    return Buffer.concat(
      this.frames.filter((found) => found.type === "data" && found.stream === stream).map(({ payload }) => payload),
    );
  }

  /** The code of the stream's reset, once it comes. */
  async resetOf(stream: number): Promise<number> {
    return (await this.find({ type: "reset", stream })).payload.readUInt32BE();
  }

  /** The code of the server's GOAWAY, once it has come and the connection has closed. */
  async endCode(): Promise<number> {
    const { payload } = await this.find({ type: "goAway" });
    await this.closed;
    return payload.readUInt32BE(4);
  }

  #take(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3);
      const type = Object.entries(frameTypes).find(([, code]) => code === rest[3])?.[0] as Frame["type"];
      const payload = rest.subarray(9, end);
      const isBlock = type === "headers";
      const fields = isBlock ? this.#decoder.decode(payload).map(({ name, value }) => `${name}: ${value}`) : [];
      this.frames.push({ type, flags: rest[4] as number, stream: rest.readUInt32BE(5), payload, fields });
      rest = rest.subarray(end);
    }
    this.#rest = rest;
    this.#lookAgain();
  }

  #lookAgain(): void {
    for (const look of this.#look) {
      look();
    }
  }
}

/** Connects, and sends nothing. */
export async function connectBare({ port }: Pick<Served, "port">): Promise<BareClient> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return new BareClient(socket);
}

/** Connects, and sends the preface, the settings and these frames. */
export async function openBare(served: Pick<Served, "port">, ...frames: readonly Buffer[]): Promise<BareClient> {
  const client = await connectBare(served);
  client.send(openingWith(...frames));
  return client;
}

/** The head of a POST whose body follows. */
export function postFrame(stream = 1, headers: Readonly<Record<string, string>> = {}): Buffer {
  const head = { ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "x", ...headers };
  return frame("headers", { flags: endHeaders, stream, payload: headerBlock(head) });
}

/** A window that grows by so many bytes; that of the connection by default. */
export function windowFrame(bytes: number, stream = 0): Buffer {
  return frame("windowUpdate", { stream, payload: uint32(bytes) });
}

/** Settings by their numbers. Source: RFC 9113, section 6.5.2 */
export function settingsFrame(...settings: readonly (readonly [id: number, value: number])[]): Buffer {
  return frame("settings", {
    payload: Buffer.concat(settings.flatMap(([id, value]) => [Buffer.of(0, id), uint32(value)])),
  });
}

export function resetFrame(stream: number, code = 8): Buffer {
  return frame("reset", { stream, payload: uint32(code) });
}

export function goAwayFrame(code = 0): Buffer {
  return frame("goAway", { payload: Buffer.concat([uint32(0), uint32(code)]) });
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
