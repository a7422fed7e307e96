import { create, createFileRegistry, type DescMethodUnary } from "@bufbuild/protobuf";
import { EmptySchema, FileDescriptorSetSchema, file_google_protobuf_empty } from "@bufbuild/protobuf/wkt";
import { createMethodImplSpec } from "@connectrpc/connect";
import { createEndpoint, type EndpointOptions, type UnaryEndpoint } from "./endpoint.ts";

/**
 * The endpoint of requests that no method takes. They pass the same call interceptors as all others, so they are
 * counted and answered with the same headers; then reading their message throws why they are refused.
 */
export function createNotFoundEndpoint(options: Pick<EndpointOptions, "callInterceptors">): UnaryEndpoint {
  const spec = createMethodImplSpec(syntheticMethod(), () => create(EmptySchema));
  return createEndpoint(spec, { ...options, messageInterceptors: [], isSynthetic: true }) as UnaryEndpoint;
}

/** Reads the message of a request that no method takes. `refusal` is undefined for OPTIONS, which has an answer. */
export async function readNotFound(refusal: Error | undefined) {
  if (refusal !== undefined) {
    throw refusal;
  }
  return create(EmptySchema);
}

/** A method without options, since interceptors expect every call to have a method. */
function syntheticMethod(): DescMethodUnary {
  const empty = `.${EmptySchema.typeName}`;
  const files = createFileRegistry(
    create(FileDescriptorSetSchema, {
      file: [
        file_google_protobuf_empty.proto,
        {
          name: "synthetic.proto",
          package: "synthetic",
          dependency: [file_google_protobuf_empty.proto.name],
          service: [{ name: "Synthetic", method: [{ name: "NotFound", inputType: empty, outputType: empty }] }],
        },
      ],
    }),
  );
  return files.getService("synthetic.Synthetic")?.method.notFound as DescMethodUnary;
}
