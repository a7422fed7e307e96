import { rpcPath } from "../../support/operations.ts";
import type { Random } from "../../support/random.ts";
import { envelope } from "../../support/rpc-wire.ts";
import { endHeaders, endStream, frame, frameTypes, headerBlock, preface } from "../http2-frames.ts";
import { fuzzBytes } from "./byte-cases.ts";
import { mutate } from "./mutate.ts";
import { byteTokens, headerTokens, numberTokens, urlTokens } from "./tokens.ts";

interface Call {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const json = { "content-type": "application/json" };
const grpc = { "content-type": "application/grpc", te: "trailers" };

const calls: readonly Call[] = [
  { headers: { ":method": "GET", ":path": "/v1/inventory" } },
  { headers: { ":method": "HEAD", ":path": "/v1/pets/7", "accept-encoding": "br" } },
  { headers: { ":method": "PATCH", ":path": "/v1/inventory/7", ...json }, body: Buffer.from('{"quantity":5}') },
  {
    headers: { ":method": "POST", ":path": rpcPath("updateInventory"), ...json },
    body: Buffer.from('{"petId":"1","update":{"quantity":"2"}}'),
  },
  {
    headers: { ":method": "POST", ":path": rpcPath("getPet"), ...grpc, "grpc-timeout": "5S" },
    body: envelope(Buffer.of(8, 7)),
  },
  {
    headers: { ":method": "POST", ":path": rpcPath("listOrders"), "content-type": "application/grpc-web" },
    body: envelope(Buffer.alloc(0)),
  },
  { headers: { ":method": "POST", ":path": "/grpc.health.v1.Health/Watch", ...grpc }, body: envelope(Buffer.alloc(0)) },
  {
    headers: { ":method": "POST", ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", ...grpc },
    body: envelope(Buffer.of(58, 0)),
  },
];

const tokens = [...byteTokens, ...headerTokens, ...numberTokens, ...urlTokens];
const otherFrames = Object.keys(frameTypes) as (keyof typeof frameTypes)[];

/** A connection: the preface, some calls whose frames are nearly valid, and others in between. */
function connection(random: Random, key: string): Buffer {
  const opening = [preface, frame("settings", { payload: payload(random, settings) })];
  const frames = Array.from({ length: 1 + random.below(4) }, (_, index) =>
    random.oneIn(3) ? [strayFrame(random)] : callFrames(random, 1 + 2 * index, key),
  );
  const bytes = Buffer.concat([...opening, ...frames.flat()]).toString("latin1");
  // Half of all connections have whole frames, with what is wrong in them.
  const sent = random.oneIn(2) ? bytes : mutate(random, bytes, { tokens, corpus: [bytes] });
  return Buffer.from(sent, "latin1");
}

function callFrames(random: Random, stream: number, key: string): Buffer[] {
  const { headers, body } = random.pick(calls);
  const all = { ":scheme": "http", ":authority": "x", ...headers, authorization: `Bearer ${key}` };
  const block = payload(random, headerBlock(random.oneIn(4) ? changed(random, all) : all));
  const flags = endHeaders + (body === undefined ? endStream : 0);
  const opened = frame("headers", { flags, stream, payload: block });
  return body === undefined
    ? [opened]
    : [opened, frame("data", { flags: endStream, stream, payload: payload(random, body) })];
}

/** One header has another value, of at most 126 bytes. */
function changed(random: Random, headers: Readonly<Record<string, string>>): Record<string, string> {
  const name = random.pick(Object.keys(headers));
  const value = mutate(random, headers[name] ?? "", { tokens, corpus: Object.values(headers) });
  return { ...headers, [name]: Buffer.from(value, "latin1").toString("latin1").slice(0, 126) };
}

/** Any frame, with any flags, on any stream. */
function strayFrame(random: Random): Buffer {
  return frame(random.pick(otherFrames), {
    flags: random.pick([0, 1, 4, 5, 8, 0x20, 0x2d, 0xff]),
    stream: random.pick([0, 1, 2, 3, 7, 0x7fffffff]),
    payload: payload(random, random.pick([settings, ...small, ...small])),
  });
}

const settings = Buffer.from("000100001000000300000064000400010000", "hex");
const small = [
  Buffer.alloc(0),
  Buffer.of(0, 0, 0, 8),
  Buffer.of(0x7f, 255, 255, 255),
  Buffer.alloc(8),
  Buffer.from("hello"),
];

/** One in eight is mutated. */
function payload(random: Random, bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  return random.oneIn(8) ? Buffer.from(mutate(random, text, { tokens, corpus: [text] }), "latin1") : bytes;
}

fuzzBytes("HTTP/2", { usual: 600, long: 10_000 }, connection);
