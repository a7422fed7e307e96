import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { get as getByTls } from "node:https";
import type { ServerStatus } from "../domain/server-status.ts";
import { Failure, usageFailure } from "./failure.ts";

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
