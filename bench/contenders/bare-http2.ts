/**
 * The limit of `node:http2`: a raw `stream` handler that answers with a gRPC update's bytes, and does nothing else.
 *
 *     node bench/contenders/bare-http2.ts
 */
import { createServer, type ServerHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { UpdateInventoryResponseSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { PetStatus } from "../../gen/petstore/v1/pet_status_pb.ts";
import { announce } from "./peer/announce.ts";
import { limitHeaders } from "./peer/ready-answer.ts";

const item = { petId: 1_234_567n, quantity: 1_000_000_000n, status: PetStatus.AVAILABLE };
const message = toBinary(UpdateInventoryResponseSchema, create(UpdateInventoryResponseSchema, { item }));
const answer = Buffer.from([0, 0, 0, 0, message.length, ...message]);
const headers = { ":status": 200, "content-type": "application/grpc", ...limitHeaders };

const server = createServer();
server.on("stream", (stream: ServerHttp2Stream) => {
  stream.respond(headers, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(answer);
});
announce(server);
