import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { closeEnvelope } from "./envelope.ts";
import { openEnveloped } from "./grpc.ts";
import type { UnaryProtocol } from "./unary-protocol.ts";

/**
 * Unary calls over gRPC-Web: gRPC, with the trailer as a last envelope of the body.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
export const grpcWebProtocol: UnaryProtocol = {
  name: "grpc-web",
  open(exchange, format) {
    return openEnveloped(exchange, format, (header, message, trailer) => {
      const body = Buffer.concat([message, closeEnvelope(trailerSerialize(trailer), trailerFlag)]);
      return exchange.respond({ status: 200, header, body });
    });
  },
};
