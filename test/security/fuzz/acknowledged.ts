import { fromBinary } from "@bufbuild/protobuf";
import { UpdateInventoryResponseSchema } from "../../../gen/petstore/v1/inventory_service_pb.ts";
import { parseTarget } from "../../../src/http/target.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { rpcPath } from "../../support/operations.ts";
import type { Draft } from "./drafts.ts";
import { readStock } from "./stock.ts";

/** An update that has been answered with success. */
export interface Acknowledged {
  readonly petId: string;
  readonly quantity: string;
}

/** Whether a request is one that may change the stock. */
export function isUpdate({ method, path }: Draft): boolean {
  const { path: bare } = parseTarget(path);
  return bare === rpcPath("updateInventory") || (method === "PATCH" && bare.startsWith("/v1/inventory/"));
}

/** Whether a request may change stock in another way. Tests of a load on stock judge these. */
export function isOtherWrite({ path }: Draft): boolean {
  return /:|holds|Adjust|Batch|Hold/i.test(parseTarget(path).path);
}

/** What the answer to an update says that is now in stock; undefined where it does not. */
export function acknowledgedBy({ status, headers, trailers, bytes, text }: HttpAnswer): Acknowledged | undefined {
  const type = (headers.get("content-type") ?? "").toLowerCase();
  const isRpcFailure = (trailers.get("grpc-status") ?? headers.get("grpc-status") ?? "0") !== "0";
  if (status !== 200 || bytes.length === 0 || isRpcFailure) {
    return undefined;
  }
  const isEnveloped = type.startsWith("application/grpc");
  // Of gRPC-Web a failure has nothing but trailers.
  if (isEnveloped && bytes.readUInt8(0) !== 0) {
    return undefined;
  }
  const message = isEnveloped ? bytes.subarray(5, 5 + bytes.readUInt32BE(1)) : bytes;
  return type.includes("json") ? fromJson(isEnveloped ? message.toString() : text) : fromProto(message);
}

function fromJson(text: string): Acknowledged {
  const item = JSON.stringify(JSON.parse(text)).startsWith('{"item"') ? text.slice(text.indexOf(":") + 1, -1) : text;
  const [entry] = readStock(`[${item}]`);
  const [petId, { quantity }] = entry ?? ["", { quantity: "" }];
  return { petId, quantity };
}

function fromProto(message: Uint8Array): Acknowledged {
  const { item } = fromBinary(UpdateInventoryResponseSchema, message);
  return { petId: String(item?.petId), quantity: String(item?.quantity) };
}
