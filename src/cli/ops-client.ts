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
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    return response.ok ? parseJson(await readAnswer(response)) : undefined;
  } catch (error) {
    throw new Failure(`no server answers at ${opsUrl}: ${reasonOf(error)}`);
  }
}

/** The text of an answer; none of one that is too long. */
async function readAnswer({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
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

/** What `fetch` throws says only that it failed; its cause has the reason. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message || ((cause as NodeJS.ErrnoException).code ?? message) : message;
}
