import { ConnectError, createMethodImplSpec, type HandlerContext } from "@connectrpc/connect";
import { createEndpoint, createNotFoundEndpoint } from "../../src/rpc/endpoint.ts";
import { createRpcHandler } from "../../src/rpc/rpc-handler.ts";
import { registry } from "../gateway/fixture.ts";
import { type ListShapesResponse, ShapeService } from "../gateway/gen/shapes/v1/shape_service_pb.ts";

/** Opens a stream. It gets the page token of the request. */
export type OpenStream = (pageToken: string, context: HandlerContext) => Promise<AsyncIterable<ListShapesResponse>>;

/** A handler of one stream, `WatchShapes`, without interceptors. */
export function createStreamHandler(open: OpenStream) {
  const interceptors = { callInterceptors: [], messageInterceptors: [] };
  const spec = createMethodImplSpec(
    ShapeService.method.watchShapes,
    ({ pageToken }, context) => open(pageToken, context) as never,
  );
  return createRpcHandler({
    endpoints: [createEndpoint(spec, interceptors)],
    notFoundEndpoint: createNotFoundEndpoint(interceptors),
    readMaxBytes: 1_000,
    registry,
    toError: (reason) => ConnectError.from(reason),
  });
}
