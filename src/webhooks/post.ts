import { lookup } from "node:dns";
import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { ConnectionOptions } from "node:tls";
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

/** Posts to a receiver. Resolves when the whole answer has come, or the head of one whose status is not 2xx. */
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
  const options: RequestOptions & Pick<ConnectionOptions, "rejectUnauthorized"> = {
    method: "POST",
    headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
    agent: false,
    // Otherwise NODE_TLS_REJECT_UNAUTHORIZED=0 turns the check off.
    rejectUnauthorized: true,
    signal: AbortSignal.any([signal, timeout]),
    lookup: createLookup(lookUpAll, allowPrivate ? () => true : isPublicAddress),
  };
  try {
    return await exchange((url.protocol === "https:" ? requestHttps : requestHttp)(url, options), body);
  } catch (error) {
    throw timeout.aborted ? new PostTimeoutError() : error;
  }
}

/** Sends a body over a connection of its own, and resolves to the answer. An answer that is too long is cut. */
function exchange(request: ClientRequest, body: string): Promise<PostAnswer> {
  return new Promise((resolve, reject) => {
    let head: IncomingMessage | undefined;
    request.on("socket", (socket) => {
      let bytes = 0;
      // Hints before the answer, and extensions of its chunks, count as well as its body.
      socket.on("data", (data: Buffer) => {
        bytes += data.length;
        if (bytes > maxAnswerBytes) {
          if (head !== undefined) {
            resolve(answerOf(head));
          }
          request.destroy(new Error("it sends hints without end"));
        }
      });
    });
    request.on("response", (response) => {
      head = response;
      const answer = answerOf(response);
      if (isSuccess(answer.status)) {
        response.on("end", () => resolve(answer)).on("error", reject);
        response.resume();
      } else {
        resolve(answer);
        response.destroy();
      }
    });
    request.on("upgrade", (response, socket) => {
      resolve(answerOf(response));
      socket.destroy();
    });
    // Bytes behind a whole answer are no part of it.
    request.on("error", (error) => (head?.complete ? resolve(answerOf(head)) : reject(error)));
    // Settles the promise where neither an answer nor an error comes.
    request.on("close", () => head === undefined && reject(new Error("the connection was closed")));
    request.end(body);
  });
}

function answerOf({ statusCode = 0, headers }: IncomingMessage): PostAnswer {
  return { status: statusCode, retryAfter: headers["retry-after"] };
}
