import { create, type DescMessage, toBinary, toJsonString } from "@bufbuild/protobuf";
import type { Target } from "../support/clients/client.ts";
import { createRestClient } from "../support/clients/rest.ts";
import { createHttp2Client, type HttpAnswer, type HttpClient, type HttpRequest } from "../support/http.ts";
import { operations, rpcPath, type Sample } from "../support/operations.ts";
import { sendRaw } from "../support/raw.ts";
import { envelope } from "../support/rpc-wire.ts";

/** A way in for a request that is put together by hand, so that each part of it can be spoilt. */
export interface Door {
  readonly name: string;
  /** The request of a working call, but for its key. */
  request(sample: Sample): Promise<HttpRequest>;
  open(target: Target): Pick<HttpClient, "send" | "close">;
}

/** Each protocol over each version of HTTP that it has. */
export const doors: readonly Door[] = [
  { name: "REST, HTTP/1.1", request: restRequest, open: createBareHttp1Client },
  { name: "REST, HTTP/2", request: restRequest, open: createHttp2Client },
  ...["application/json", "application/proto", "application/grpc-web+proto", "application/grpc"].flatMap((type) => [
    { name: `${type}, HTTP/1.1`, request: rpcRequest(type), open: createBareHttp1Client },
    { name: `${type}, HTTP/2`, request: rpcRequest(type), open: createHttp2Client },
  ]),
];

/** Whether an answer gives what was asked for. What gRPC refuses is 200 too, and has a status in its trailers alone. */
export function isGiven({ status, headers, trailers, bytes }: HttpAnswer): boolean {
  const written = /grpc-status: ?(\d+)/.exec(bytes.toString("latin1"))?.[1];
  const said = trailers.get("grpc-status") ?? headers.get("grpc-status") ?? written ?? "0";
  return (status === 200 || status === 201) && said === "0" && bytes.length > 0;
}

/** What the client of REST sends for an operation. */
async function restRequest({ operation, input }: Sample): Promise<HttpRequest> {
  return await new Promise((resolve) => {
    const http = { send: (request: HttpRequest) => resolve(request), close() {} } as unknown as HttpClient;
    void createRestClient(http)
      .call(operation, input)
      .catch(() => {});
  });
}

function rpcRequest(type: string): Door["request"] {
  return async ({ operation, input }) => {
    const schema: DescMessage = operations[operation].input;
    const message = create(schema, input);
    const bytes = type.endsWith("json") ? Buffer.from(toJsonString(schema, message)) : toBinary(schema, message);
    const headers = { "content-type": type, te: "trailers" };
    return { method: "POST", path: rpcPath(operation), headers, body: type.includes("grpc") ? envelope(bytes) : bytes };
  };
}

/** A client that writes each request as it is, however wrong, to a connection of its own. */
function createBareHttp1Client(target: Target): Pick<HttpClient, "send" | "close"> {
  return {
    close() {},
    async send({ method, path, headers = {}, body = "" }) {
      const lines = Object.entries(headers).flatMap(([name, value]) =>
        [value].flat().map((one) => `${name}: ${one}\r\n`),
      );
      const length = body.length > 0 ? `content-length: ${body.length}\r\n` : "";
      const head = `${method} ${path} HTTP/1.1\r\nhost: x\r\n${lines.join("")}${length}\r\n`;
      const { text, ...answer } = await sendRaw(
        target,
        Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]),
      );
      return { ...answer, text, trailers: new Headers(), bytes: Buffer.from(text) };
    },
  };
}
