import { create, fromBinary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Client } from "@grpc/grpc-js";
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { codec } from "../support/clients/grpc.ts";

/** The versions of the reflection service; their messages are the same on the wire. */
export const reflectionVersions = ["v1", "v1alpha"] as const;

type Question = MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"];

/** Opens a stream of the reflection service. */
export function openReflection(channel: Client, version: (typeof reflectionVersions)[number]) {
  return channel.makeBidiStreamRequest<MessageShape<typeof ServerReflectionRequestSchema>, ServerReflectionResponse>(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    codec(ServerReflectionRequestSchema).write as never,
    codec(ServerReflectionResponseSchema).read as never,
  );
}

/** Asks the reflection service, all on one stream. Rejects with the stream's error. */
export function reflect(
  channel: Client,
  version: (typeof reflectionVersions)[number],
  ...questions: readonly NonNullable<Question>[]
): Promise<ServerReflectionResponse["messageResponse"][]> {
  return new Promise((resolve, reject) => {
    const answers: ServerReflectionResponse["messageResponse"][] = [];
    const stream = openReflection(channel, version);
    stream.on("data", (answer: ServerReflectionResponse) => answers.push(answer.messageResponse));
    stream.on("error", reject);
    stream.on("end", () => resolve(answers));
    for (const messageRequest of questions) {
      stream.write(create(ServerReflectionRequestSchema, { messageRequest }));
    }
    stream.end();
  });
}

/** The files of an answer; throws when it is an error. */
export function filesOf(answer: ServerReflectionResponse["messageResponse"] | undefined): FileDescriptorProto[] {
  if (answer?.case !== "fileDescriptorResponse") {
    throw new Error(`not files: ${JSON.stringify(answer?.value)}`);
  }
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}
