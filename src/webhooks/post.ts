import { lookup } from "node:dns";
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { deliveryTimeoutMs } from "../domain/webhook.ts";
import {
  createFairLookup,
  createLookup,
  isPublicAddress,
  type LookUpAll,
  literalAddress,
  PrivateAddressError,
} from "./address.ts";

/** How much of an answer is read, in bytes. Nothing of it is kept. */
const maxAnswerBytes = 64 * 1024;

/** What is posted to a receiver. */
export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether addresses that are not public are connected to. */
  readonly allowPrivate: boolean;
  /** Ends the wait for the answer. */
  readonly signal: AbortSignal;
}

/** What a receiver has answered. */
export interface PostAnswer {
  readonly status: number;
  /** The header `Retry-After`; undefined where there is none. */
  readonly retryAfter: string | undefined;
}

/** Posts to a receiver. Resolves when the whole answer has come, or with a status that is not 2xx as soon as that has. */
export type SendPost = (post: Post) => Promise<PostAnswer>;

/** Whether a status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** A receiver has not answered in time. */
export class PostTimeoutError extends Error {
  override readonly name = "PostTimeoutError";

  constructor() {
    super(`it has not answered within ${deliveryTimeoutMs / 1_000} s`);
  }
}

/**
 * Posts over a connection of its own. It follows no redirect. Rejects with `PrivateAddressError`, `PostTimeoutError`, an
 * `AbortError`, and the system's errors.
 */
export const sendPost: SendPost = (post) => sendWith(post, fairLookup);

/** All posts share it, because the whole process shares the system's look-ups. */
const fairLookup = createFairLookup(lookup);

/** As `sendPost`, with names looked up by this function. */
export async function sendWith(
  { url, headers, body, allowPrivate, signal }: Post,
  lookUpAll: LookUpAll,
): Promise<PostAnswer> {
  const literal = literalAddress(url);
  if (!allowPrivate && literal !== undefined && !isPublicAddress(literal)) {
    throw new PrivateAddressError();
  }
  const timeout = AbortSignal.timeout(deliveryTimeoutMs);
  const options: RequestOptions = {
    method: "POST",
    headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
    agent: false,
    signal: AbortSignal.any([signal, timeout]),
    lookup: createLookup(lookUpAll, allowPrivate ? () => true : isPublicAddress),
  };
  try {
    const response = await exchange((url.protocol === "https:" ? requestHttps : requestHttp)(url, options), body);
    const status = response.statusCode ?? 0;
    if (isSuccess(status)) {
      await readAnswer(response);
    } else {
      response.destroy();
    }
    return { status, retryAfter: response.headers["retry-after"] };
  } catch (error) {
    throw timeout.aborted ? new PostTimeoutError() : error;
  }
}

/**
 * Sends a body, and resolves to the head of the answer. The last listener settles the promise where neither an answer
 * nor an error comes.
 */
function exchange(request: ClientRequest, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("response", resolve).on("error", reject);
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve(response);
    });
    request.on("close", () => reject(new Error("the connection was closed")));
    request.end(body);
  });
}

async function readAnswer(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) {
      // Leaving the loop destroys the connection.
      return;
    }
  }
}
