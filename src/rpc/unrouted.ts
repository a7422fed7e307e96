import { create, createFileRegistry, type DescMethodUnary } from "@bufbuild/protobuf";
import { EmptySchema, FileDescriptorSetSchema, file_google_protobuf_empty } from "@bufbuild/protobuf/wkt";
import { createMethodImplSpec } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import type { ProtocolError } from "../http/protocol-error.ts";
import { createEndpoint, type EndpointOptions } from "./create-endpoint.ts";
import type { UnaryEndpoint } from "./endpoint.ts";

/**
 * The endpoint of requests that no method takes. They go through the same interceptors as all others, and end in what
 * their `read` throws: so they too are judged, counted, and answered with the same headers.
 */
export function createUnroutedEndpoint(options: Pick<EndpointOptions, "callInterceptors">): UnaryEndpoint {
  const spec = createMethodImplSpec(unroutedMethod(), () => create(EmptySchema));
  return createEndpoint(spec, { ...options, messageInterceptors: [], isStandIn: true }) as UnaryEndpoint;
}

/** A request that no method takes. */
export interface UnroutedRequest {
  readonly exchange: Exchange;
  readonly protocolName: string;
  /** What the request ends in; undefined for OPTIONS, which has an answer. */
  readonly refusal: ProtocolError | undefined;
}

/** Has the interceptors judge a request that no method takes. Resolves for OPTIONS, to the headers of its answer. */
export async function callUnrouted(
  unrouted: UnaryEndpoint,
  { exchange, protocolName, refusal }: UnroutedRequest,
): Promise<Headers> {
  const read = () => (refusal === undefined ? Promise.resolve(create(EmptySchema)) : Promise.reject(refusal));
  const { header } = await unrouted.call({ exchange, protocolName, read });
  return header;
}

/** A method of no proto, as interceptors expect to be told one. It carries no options. */
function unroutedMethod(): DescMethodUnary {
  const empty = `.${EmptySchema.typeName}`;
  const files = createFileRegistry(
    create(FileDescriptorSetSchema, {
      file: [
        file_google_protobuf_empty.proto,
        {
          name: "unrouted.proto",
          package: "unrouted",
          dependency: [file_google_protobuf_empty.proto.name],
          service: [{ name: "Unrouted", method: [{ name: "Unrouted", inputType: empty, outputType: empty }] }],
        },
      ],
    }),
  );
  return files.getService("unrouted.Unrouted")?.method.unrouted as DescMethodUnary;
}
