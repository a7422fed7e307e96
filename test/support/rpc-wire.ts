import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import type { Outcome } from "./clients/client.ts";
import { failureFromConnectError } from "./clients/failure.ts";
import { mergeHeaders } from "./clients/headers.ts";
import type { HttpAnswer } from "./http.ts";

/** A message with the five bytes of the envelope that gRPC, gRPC-Web and Connect's streams use. */
export function envelope(message: Uint8Array, { flags = 0, length = message.byteLength } = {}): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

/** The failure in the answer to a unary call of Connect. */
export function readConnectOutcome(answer: Pick<HttpAnswer, "status" | "headers" | "text">): Outcome {
  const fallback = new ConnectError(`HTTP ${answer.status}: ${answer.text}`, Code.DataLoss);
  const error = errorFromJsonBytes(Buffer.from(answer.text), undefined, fallback);
  return { failure: failureFromConnectError(error), headers: answer.headers };
}

/** The failure in the answer to a gRPC call: in the trailers or, without a body, in the headers. */
export function readGrpcOutcome({ headers, trailers }: HttpAnswer): Outcome {
  return readTrailers(mergeHeaders(headers, trailers));
}

/** The failure in the answer to a call of gRPC-Web: its trailers are the last frame of the body. */
export function readGrpcWebOutcome({ headers, bytes }: HttpAnswer): Outcome {
  return readTrailers(mergeHeaders(headers, new Headers(webTrailers(bytes))));
}

function readTrailers(headers: Headers): Outcome {
  const error = findTrailerError(headers);
  return { ...(error === undefined ? {} : { failure: failureFromConnectError(error) }), headers };
}

function webTrailers(bytes: Buffer): [string, string][] {
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) {
    if ((bytes.readUInt8(at) & 0x80) !== 0) {
      const lines = bytes
        .subarray(at + 5)
        .toString("latin1")
        .split("\r\n")
        .filter(Boolean);
      return lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
    }
  }
  return [];
}
