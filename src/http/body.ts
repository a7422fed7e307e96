import type { Readable } from "node:stream";
import { ProtocolError } from "./protocol-error.ts";

/** What bounds the reading of a request body. */
export interface BodyLimits {
  readonly maxBytes: number;
  /** From the first read on, in milliseconds. */
  readonly timeoutMs: number;
  readonly deadline: AbortSignal | undefined;
}

/**
 * Reads a request body to its end.
 *
 * Throws a `ProtocolError`, `body_too_large` or `request_timeout` or `canceled`, or the reason of `deadline`. It reads no
 * further then.
 */
export function readBody(body: Readable, { maxBytes, timeoutMs, deadline }: BodyLimits): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;

    function settle(end: () => void): void {
      clearTimeout(timer);
      deadline?.removeEventListener("abort", onAbort);
      body.off("data", onData).off("end", onEnd).off("close", onClose);
      body.pause();
      end();
    }
    function onData(chunk: Buffer): void {
      size += chunk.length;
      if (size > maxBytes) {
        settle(() => reject(bodyTooLarge(maxBytes)));
      } else {
        chunks.push(chunk);
      }
    }
    function onEnd(): void {
      settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)));
    }
    function onClose(): void {
      settle(() => reject(new ProtocolError("canceled", "The request was abandoned.")));
    }
    function onAbort(): void {
      settle(() => reject(deadline?.reason));
    }
    function onTimeout(): void {
      settle(() => reject(requestTimeout()));
    }

    const timer = setTimeout(onTimeout, timeoutMs);
    if (deadline?.aborted === true) {
      onAbort();
    } else if (body.readableEnded) {
      onEnd();
    } else if (body.destroyed) {
      onClose();
    } else {
      deadline?.addEventListener("abort", onAbort);
      body.on("data", onData).on("end", onEnd).on("close", onClose);
    }
  });
}

/** How much of a body, in bytes, and for how long, in milliseconds, is taken from a client that has its answer. */
const discardMaxBytes = 1024 * 1024;
const discardMs = 1_000;

/**
 * Takes what is left of a body that nobody reads and throws it away, so that the client can finish and read its
 * answer. `giveUp` is called when there is too much of it.
 */
export function discardBody(body: Readable, giveUp: () => void): void {
  let size = 0;
  const timer = setTimeout(giveUp, discardMs);
  body.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  body.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > discardMaxBytes) {
      giveUp();
    }
  });
  body.resume();
}

/** The body has more bytes than the service takes. */
export function bodyTooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError("body_too_large", `The request body is larger than ${maxBytes} bytes. Send a smaller one.`);
}

function requestTimeout(): ProtocolError {
  return new ProtocolError("request_timeout", "The request body did not arrive in time. Send the request again.");
}
