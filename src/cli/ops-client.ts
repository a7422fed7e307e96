import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { get as getByTls } from "node:https";
import { Failure } from "./failure.ts";
import { parseStatus, type ServerStatus } from "./server-status.ts";

/** A server that is well answers at once. */
const timeoutMs = 5_000;

/** A thousand times what a server answers. */
const maxAnswerBytes = 1024 * 1024;

/** Asks a server how it is. `opsUrl` is where its operator's port is. Throws a `Failure` when none answers there. */
export async function fetchStatus(opsUrl: string): Promise<ServerStatus> {
  const status = parseStatus(await ask(opsUrl));
  if (status === undefined) {
    throw new Failure(`what answers at ${opsUrl} is no petstore server's operator port`);
  }
  return status;
}

/** The answer, where it is JSON; undefined where it is anything else. */
async function ask(opsUrl: string): Promise<unknown> {
  const url = URL.parse("/status", opsUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Failure(`${JSON.stringify(opsUrl)} is no address, such as http://127.0.0.1:9090`, 2);
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

/** Not by `fetch`, which refuses the ports that browsers do. Source: https://fetch.spec.whatwg.org/#port-blocking */
async function request(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const send = url.protocol === "https:" ? getByTls : get;
  const [response] = (await once(send(url, { signal }), "response")) as [IncomingMessage];
  return response;
}

/** The text of an answer; none of one that is too long. */
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

/** A host with several addresses fails with an error that has a code alone. */
function reasonOf({ message, code }: NodeJS.ErrnoException): string | undefined {
  return message || code;
}
