import { Agent, request as requestHttp } from "node:http";
import { connect } from "node:http2";
import { request as requestHttps, Agent as TlsAgent } from "node:https";
import type { Target } from "./clients/client.ts";

export interface HttpRequest {
  readonly method: string;
  /** The path and query, sent as they are. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
  readonly body?: string | Uint8Array | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly trailers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
}

/** An HTTP client of one version. It follows no redirects, and normalises nothing. */
export interface HttpClient {
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

/** A client over HTTP/1.1, with connections kept alive. */
export function createHttp1Client({ origin, ca }: Target): HttpClient {
  const agent = ca === undefined ? new Agent({ keepAlive: true }) : new TlsAgent({ keepAlive: true, ca });
  const start = ca === undefined ? requestHttp : requestHttps;
  const { hostname, port } = new URL(origin);
  return {
    close: () => agent.destroy(),
    send: ({ method, path, headers, body }) =>
      new Promise((resolve, reject) => {
        const request = start({ agent, hostname, port, method, path, headers: { ...headers } }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: toHeaders(response.headers),
              trailers: toHeaders(response.trailers),
              ...toBody(chunks),
            }),
          );
        });
        request.on("error", reject);
        request.end(body);
      }),
  };
}

/** A client over HTTP/2, with prior knowledge for a cleartext origin. It reopens a closed session. */
export function createHttp2Client({ origin, ca }: Target): HttpClient {
  // Lets a test send two `Authorization` headers.
  const options = { ...(ca === undefined ? {} : { ca }), strictSingleValueFields: false };
  const open = () => connect(origin, options).on("error", () => {});
  let session = open();
  return {
    close: () => session.destroy(),
    send: ({ method, path, headers, body }) =>
      new Promise((resolve, reject) => {
        // A server closes an idle session.
        session = session.closed || session.destroyed ? open() : session;
        const stream = session.request(
          { ":method": method, ":path": path, ...headers },
          { endStream: body === undefined },
        );
        const chunks: Buffer[] = [];
        let answer = { status: 0, headers: new Headers() };
        let trailers = new Headers();
        stream.on("response", (head) => {
          answer = { status: head[":status"] ?? 0, headers: toHeaders(head) };
        });
        stream.on("trailers", (tail) => {
          trailers = toHeaders(tail);
        });
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("error", reject);
        stream.on("close", () =>
          answer.status === 0
            ? reject(new Error(`the stream was closed without an answer (${stream.rstCode})`))
            : resolve({ ...answer, trailers, ...toBody(chunks) }),
        );
        if (body !== undefined) {
          stream.end(body);
        }
      }),
  };
}

/** Node's header objects as `Headers`, without the pseudo-headers of HTTP/2. */
export function toHeaders(entries: NodeJS.Dict<string | number | string[]>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(entries)) {
    if (!name.startsWith(":")) {
      for (const line of [value ?? []].flat()) {
        headers.append(name, String(line));
      }
    }
  }
  return headers;
}

function toBody(chunks: readonly Buffer[]): { bytes: Buffer; text: string } {
  const bytes = Buffer.concat(chunks);
  return { bytes, text: bytes.toString("utf8") };
}
