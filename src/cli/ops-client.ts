import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { get as getByTls } from "node:https";
import { Failure, usageFailure } from "./failure.ts";

/** The answer of a server's operator port at `/status`. */
export interface ServerStatus {
  readonly version: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly url: string;
  readonly opsUrl: string;
  readonly ready: boolean;
  readonly db: StoreStatus;
  /** Since the start, and the average of the last minute. */
  readonly calls: { readonly total: number; readonly perSecond1m: number; readonly failed: number };
  /** Since the start. */
  readonly limits: {
    readonly admitted: number;
    readonly refused: number;
    readonly banned: number;
    /** Where limits are counted for all servers; absent where they are counted in memory. */
    readonly shared?: SharedLimitsStatus;
  };
  /** The streams of keys; absent from older servers. */
  readonly streams?: StreamsStatus;
  /** Absent from older servers. */
  readonly webhooks?: WebhooksStatus;
  /** The number of keys on each plan. */
  readonly keys: { readonly byPlan: Readonly<Record<string, number>> };
  /** The servers that share the store; absent for a store of one server. */
  readonly servers?: readonly ServerLine[];
  readonly logLevel: string;
}

/** Limits that Valkey counts. */
export interface SharedLimitsStatus {
  readonly url: string;
  /** `local` or `refuse`. */
  readonly fallback: string;
  /** Since when Valkey does not answer, in RFC 3339, and why; null while it does. */
  readonly away: { readonly since: string; readonly reason: string } | null;
}

export interface StreamsStatus {
  readonly open: number;
  /** How many may be open. */
  readonly most: number;
  /** How many keys have as many open as a key may. */
  readonly keysAtMost: number;
  /** Since the start. */
  readonly refused: number;
}

/** How many webhooks there are, and how old the oldest change is that waits for its delivery. */
export interface WebhooksStatus {
  readonly active: number;
  readonly failing: number;
  readonly paused: number;
  readonly lagSeconds: number;
}

/** A server that uses the same store. Times are RFC 3339. */
export interface ServerLine {
  readonly id: string;
  readonly version: string;
  readonly startedAt: string;
  readonly lastSeenAt: string;
}

/** The store of a server. A store without files has no sizes, and neither has one that does not answer. */
export interface StoreStatus {
  readonly path: string;
  readonly fileBytes?: number;
  readonly walBytes?: number;
  /** What is free on the disk of the files. */
  readonly freeBytes?: number;
  /** RFC 3339; null when there was no backup. */
  readonly lastBackupAt?: string | null;
  /** Why the store does not answer; absent while it does. */
  readonly error?: string;
}

/** The required fields, each with a value of its type. */
const model = {
  version: "",
  startedAt: "",
  url: "",
  opsUrl: "",
  ready: true,
  db: { path: "" },
  calls: { total: 0, perSecond1m: 0, failed: 0 },
  limits: { admitted: 0, refused: 0, banned: 0 },
  keys: { byPlan: {} },
  logLevel: "",
} satisfies ServerStatus;

/** How long to wait for the answer, in milliseconds. A healthy server answers at once. */
const timeoutMs = 5_000;

/** The most that is read of an answer, in bytes: a thousand times the usual size. */
const maxAnswerBytes = 1024 * 1024;

/** Reads the status of the server whose operator port is at `opsUrl`. Throws a `Failure` when none answers. */
export async function fetchStatus(opsUrl: string): Promise<ServerStatus> {
  const status = parseStatus(await ask(opsUrl));
  if (status === undefined) {
    throw new Failure(`what answers at ${opsUrl} is not the operator port of a petstore server`);
  }
  return status;
}

/** Accepts an answer that has all required fields. A newer server may send more. Undefined otherwise. */
export function parseStatus(answer: unknown): ServerStatus | undefined {
  return hasShape(answer, model) ? (answer as ServerStatus) : undefined;
}

function hasShape(value: unknown, shape: unknown): boolean {
  if (typeof value !== typeof shape || value === null) {
    return false;
  }
  const parts = typeof shape === "object" ? Object.entries(shape as object) : [];
  return parts.every(([name, part]) => hasShape((value as Record<string, unknown>)[name], part));
}

/** The answer as JSON; undefined for any other answer. */
async function ask(opsUrl: string): Promise<unknown> {
  const url = URL.parse("/status", opsUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usageFailure(`${JSON.stringify(opsUrl)} is not an HTTP address such as http://127.0.0.1:9090`);
  }
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await request(url, signal);
    const text = await readAnswer(response);
    return response.statusCode === 200 ? parseJson(text) : undefined;
  } catch (error) {
    throw new Failure(`no server answers at ${opsUrl}: ${reasonOf(signal.aborted ? signal.reason : error)}`);
  }
}

/** `fetch` would refuse the ports that browsers block. Source: https://fetch.spec.whatwg.org/#port-blocking */
async function request(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const send = url.protocol === "https:" ? getByTls : get;
  const [response] = (await once(send(url, { signal }), "response")) as [IncomingMessage];
  return response;
}

/** The text of an answer; empty for one that is too long. */
async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxAnswerBytes) {
      return "";
    }
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** When a host has several addresses, the error has a code and no message. */
function reasonOf({ message, code }: NodeJS.ErrnoException): string | undefined {
  return message || code;
}
