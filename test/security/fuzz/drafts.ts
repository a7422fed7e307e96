import { create, type DescMessage, toBinary, toJson } from "@bufbuild/protobuf";
import type { HttpRequest } from "../../support/http.ts";
import { operations, rpcPath, type Sample, samples } from "../../support/operations.ts";
import { envelope } from "../../support/rpc-wire.ts";

/** A request that is valid, but for its key. */
export interface Draft extends HttpRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const restDrafts: readonly Draft[] = [
  { method: "GET", path: "/v1/inventory", headers: { "accept-encoding": "gzip", "if-none-match": '"x"' } },
  {
    method: "GET",
    path: "/v1/inventory?pageSize=2&status=sold&status=pending",
    headers: { origin: "http://a.example" },
  },
  { method: "GET", path: "/v1/pets/7", headers: { "x-request-id": "abc-1" } },
  { method: "GET", path: "/v1/store/orders?pageSize=1", headers: { "x-forwarded-proto": "https" } },
  { method: "GET", path: "/v1/limits", headers: { accept: "application/json" } },
  ...["0", "1", "2", "3", "7"].map((id) => ({
    method: "PATCH",
    path: `/v1/inventory/${id}`,
    headers: { "content-type": "application/json", "x-http-method-override": "DELETE" },
    body: Buffer.from('{"quantity":5}'),
  })),
];

/** Working requests of every operation over every protocol. */
export const drafts: readonly Draft[] = [
  ...restDrafts,
  ...samples.flatMap((sample) => [
    connectJson(sample),
    connectProto(sample),
    grpc(sample),
    grpcJson(sample),
    grpcWeb(sample),
  ]),
  ...samples
    .filter(({ operation }) => operation !== "updateInventory")
    .flatMap((sample) => [getJson(sample), getProto(sample)]),
];

function connectJson({ operation, input }: Sample): Draft {
  const headers = {
    "content-type": "application/json",
    "connect-protocol-version": "1",
    "connect-timeout-ms": "60000",
  };
  return { method: "POST", path: rpcPath(operation), headers, body: jsonOf({ operation, input }) };
}

function connectProto({ operation, input }: Sample): Draft {
  const headers = { "content-type": "application/proto", "content-encoding": "identity" };
  return { method: "POST", path: rpcPath(operation), headers, body: binaryOf({ operation, input }) };
}

function grpc({ operation, input }: Sample): Draft {
  const headers = {
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-timeout": "60S",
    "grpc-encoding": "identity",
  };
  return { method: "POST", path: rpcPath(operation), headers, body: envelope(binaryOf({ operation, input })) };
}

function grpcJson({ operation, input }: Sample): Draft {
  const headers = { "content-type": "application/grpc+json", te: "trailers", "grpc-accept-encoding": "gzip" };
  return { method: "POST", path: rpcPath(operation), headers, body: envelope(jsonOf({ operation, input })) };
}

function grpcWeb({ operation, input }: Sample): Draft {
  const headers = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" };
  return { method: "POST", path: rpcPath(operation), headers, body: envelope(binaryOf({ operation, input })) };
}

function getJson({ operation, input }: Pick<Sample, "operation" | "input">): Draft {
  const message = encodeURIComponent(jsonOf({ operation, input }).toString());
  return { method: "GET", path: `${rpcPath(operation)}?connect=v1&encoding=json&message=${message}`, headers: {} };
}

function getProto({ operation, input }: Pick<Sample, "operation" | "input">): Draft {
  const message = binaryOf({ operation, input }).toString("base64url");
  return {
    method: "GET",
    path: `${rpcPath(operation)}?connect=v1&base64=1&encoding=proto&message=${message}`,
    headers: {},
  };
}

function jsonOf({ operation, input }: Pick<Sample, "operation" | "input">): Buffer {
  const desc: DescMessage = operations[operation].input;
  return Buffer.from(JSON.stringify(toJson(desc, create(desc, input))));
}

function binaryOf({ operation, input }: Pick<Sample, "operation" | "input">): Buffer {
  const desc: DescMessage = operations[operation].input;
  return Buffer.from(toBinary(desc, create(desc, input)));
}
