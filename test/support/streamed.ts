import { request as requestHttp } from "node:http";
import { connect } from "node:http2";
import { request as requestHttps } from "node:https";
import type { Readable } from "node:stream";
import type { Target } from "./clients/client.ts";
import { type HttpRequest, toHeaders } from "./http.ts";

/** The versions of HTTP. */
export const httpVersions = ["HTTP/1.1", "HTTP/2"] as const;

export type HttpVersion = (typeof httpVersions)[number];

/** A request without a body, whose answer is read as it comes. It is a GET by default. */
export type StreamedRequest = Pick<HttpRequest, "path" | "headers"> & Partial<Pick<HttpRequest, "method">>;

/** The head of an answer, and its body. */
export interface StreamedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
}

/** An exchange over a connection of its own. */
export interface Streamed {
  /** Rejects when the connection breaks before there is an answer. */
  readonly answer: Promise<StreamedAnswer>;
  /** Breaks the connection. */
  readonly close: () => void;
}

/** Sends a request over a connection of its own. */
export function sendStreamed(version: HttpVersion, target: Target, request: StreamedRequest): Streamed {
  return version === "HTTP/1.1" ? overHttp1(target, request) : overHttp2(target, request);
}

function overHttp1({ origin, ca }: Target, { method = "GET", path, headers = {} }: StreamedRequest): Streamed {
  const { promise: answer, resolve, reject } = Promise.withResolvers<StreamedAnswer>();
  const start = ca === undefined ? requestHttp : requestHttps;
  const { hostname, port } = new URL(origin);
  const options = { hostname, port, method, path, headers: { ...headers }, agent: false as const };
  const request = start({ ...options, ...(ca === undefined ? {} : { ca }) }, (response) =>
    resolve({ status: response.statusCode ?? 0, headers: toHeaders(response.headers), body: response }),
  );
  request.on("error", reject);
  request.end();
  return { answer, close: () => request.destroy() };
}

function overHttp2({ origin, ca }: Target, { method = "GET", path, headers = {} }: StreamedRequest): Streamed {
  const { promise: answer, resolve, reject } = Promise.withResolvers<StreamedAnswer>();
  // Lets a test send two `Authorization` headers.
  const options = { ...(ca === undefined ? {} : { ca }), strictSingleValueFields: false };
  const session = connect(origin, options);
  session.on("error", reject);
  const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: true });
  stream.on("error", reject);
  stream.on("close", () => {
    session.destroy();
    // A connection that merely ends is no error of the stream.
    reject(new Error("the connection ended before there was an answer"));
  });
  stream.on("response", (head) => resolve({ status: head[":status"] ?? 0, headers: toHeaders(head), body: stream }));
  return { answer, close: () => session.destroy() };
}

/** The text of a body up to a separator, which is included; or all of it, when it ends before. */
export async function readUpTo(body: Readable, separator: string): Promise<string> {
  let text = "";
  for await (const chunk of body.setEncoding("utf8") as AsyncIterable<string>) {
    text += chunk;
    if (text.includes(separator)) {
      break;
    }
  }
  const end = text.indexOf(separator);
  return end === -1 ? text : text.slice(0, end + separator.length);
}
