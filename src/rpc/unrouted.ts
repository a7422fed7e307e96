import { create, createFileRegistry, type DescMethodUnary } from "@bufbuild/protobuf";
import { EmptySchema, FileDescriptorSetSchema, file_google_protobuf_empty } from "@bufbuild/protobuf/wkt";
import { createMethodImplSpec } from "@connectrpc/connect";
import { createEndpoint, type EndpointOptions } from "./create-endpoint.ts";
import type { UnaryEndpoint } from "./endpoint.ts";

/**
 * The endpoint of requests that no method takes. They go through the same interceptors as all others, and end in what
 * their `read` throws: so they too are judged, counted, and answered with the same headers.
 */
export function createUnroutedEndpoint(options: Pick<EndpointOptions, "callInterceptors">): UnaryEndpoint {
  const spec = createMethodImplSpec(unroutedMethod(), () => create(EmptySchema));
  return createEndpoint(spec, { ...options, messageInterceptors: [] }) as UnaryEndpoint;
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
