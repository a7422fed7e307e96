import {
  createRegistry,
  type DescExtension,
  type DescFile,
  type DescService,
  type MessageInitShape,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts";
import type {
  ServerReflection,
  ServerReflectionRequest,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";

/** What the health service needs. */
interface HealthOptions {
  /** The full names of the services that are served. */
  readonly serviceNames: readonly string[];
  /** Aborts when the server stops serving. */
  readonly stopping: AbortSignal;
}

/**
 * The standard health service, for all services together (the empty name) and for each by name.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function healthService({ serviceNames, stopping }: HealthOptions): ServiceImpl<typeof Health> {
  const known = ["", ...serviceNames];

  function current() {
    return { status: stopping.aborted ? ServingStatus.NOT_SERVING : ServingStatus.SERVING };
  }

  return {
    check({ service }) {
      if (!known.includes(service)) {
        throw new ConnectError("There is no service of this name.", Code.NotFound);
      }
      return current();
    },

    list() {
      return { statuses: Object.fromEntries(known.map((service) => [service, current()])) };
    },

    // The status changes only once, when the server stops, which also ends the stream.
    async *watch({ service }, { signal }) {
      const isKnown = known.includes(service);
      yield isKnown ? current() : { status: ServingStatus.SERVICE_UNKNOWN };
      if (!stopping.aborted) {
        await aborted(AbortSignal.any([signal, stopping]));
        if (isKnown && stopping.aborted) {
          yield current();
        }
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener("abort", () => resolve(), { once: true });
    }
  });
}

type Answer = Required<MessageInitShape<typeof ServerReflectionResponseSchema>>["messageResponse"];
type Question = ServerReflectionRequest["messageRequest"];

/** How many questions of a stream are answered: nothing else counts them. */
const maxQuestions = 200;

/**
 * gRPC server reflection: tells tools which services there are. `others` are files that no service imports, such as
 * those of error details.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
 */
export function reflectionService(
  services: readonly DescService[],
  others: readonly DescFile[] = [],
): ServiceImpl<typeof ServerReflection> {
  const files = withImports([...services.map(({ file }) => file), ...others]);
  const served: Served = {
    names: services.map(({ typeName }) => typeName),
    files,
    registry: createRegistry(...files),
  };

  return {
    async *serverReflectionInfo(requests) {
      const sent = new Set<DescFile>();
      let asked = 0;
      for await (const { host, messageRequest } of requests) {
        asked++;
        if (asked > maxQuestions) {
          throw new ConnectError(
            `The stream has had its ${maxQuestions} answers. Open another one.`,
            Code.ResourceExhausted,
          );
        }
        yield {
          validHost: host,
          originalRequest: { host, messageRequest },
          messageResponse: answer(messageRequest, served, sent),
        };
      }
    },
  };
}

/** The services' full names, and all files that declare them or that these files import. */
interface Served {
  readonly names: readonly string[];
  readonly files: readonly DescFile[];
  readonly registry: Registry;
}

/** Answers a question of a stream on which the files in `sent` were sent before. */
function answer(question: Question, { names, files, registry }: Served, sent: Set<DescFile>): Answer {
  switch (question.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: names.map((name) => ({ name })) } };
    case "fileByFilename":
      return fileAnswer(
        files.find(({ name }) => `${name}.proto` === question.value),
        sent,
      );
    case "fileContainingSymbol":
      return fileAnswer(fileOfSymbol(registry, question.value), sent);
    case "fileContainingExtension":
      return fileAnswer(fileOfExtension(files, question.value), sent);
    case "allExtensionNumbersOfType":
      return extensionNumbersAnswer({ files, registry }, question.value);
    case undefined:
      return errorAnswer(Code.InvalidArgument, "The request asks for nothing.");
  }
}

/**
 * The file and all that it imports, so that a client asks only once. Without the imports that were sent on the stream
 * before, as the protocol allows: otherwise a question of 35 bytes has 80 KB for an answer, each time.
 */
function fileAnswer(file: DescFile | undefined, sent: Set<DescFile>): Answer {
  if (file === undefined) {
    return errorAnswer(Code.NotFound, "There is no such file or symbol.");
  }
  const unsent = withImports([file]).filter((each) => each === file || !sent.has(each));
  for (const each of unsent) {
    sent.add(each);
  }
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: unsent.map(fileToBinary) } };
}

const binaryFiles = new WeakMap<DescFile, Uint8Array>();

/** Encodes a file once: a client may ask for it a thousand times. */
function fileToBinary(file: DescFile): Uint8Array {
  const binary = binaryFiles.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
  binaryFiles.set(file, binary);
  return binary;
}

function extensionNumbersAnswer({ files, registry }: Omit<Served, "names">, typeName: string): Answer {
  if (registry.getMessage(typeName) === undefined) {
    return errorAnswer(Code.NotFound, "There is no such message.");
  }
  const extensionNumber = extensionsOf(files, typeName).map(({ number }) => number);
  return { case: "allExtensionNumbersResponse", value: { baseTypeName: typeName, extensionNumber } };
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

/** The file that declares a type, service or extension, or the parent of a method, field or enum value. */
function fileOfSymbol(registry: Registry, symbol: string): DescFile | undefined {
  const parent = symbol.slice(0, Math.max(0, symbol.lastIndexOf(".")));
  return (registry.get(symbol) ?? registry.get(parent))?.file;
}

function fileOfExtension(
  files: readonly DescFile[],
  { containingType, extensionNumber }: { containingType: string; extensionNumber: number },
): DescFile | undefined {
  return extensionsOf(files, containingType).find(({ number }) => number === extensionNumber)?.file;
}

function extensionsOf(files: readonly DescFile[], typeName: string): DescExtension[] {
  return files.flatMap(({ extensions }) => extensions).filter(({ extendee }) => extendee.typeName === typeName);
}

/** The files and all that they import, each once. */
function withImports(files: readonly DescFile[]): DescFile[] {
  return [...new Set(files.flatMap((file) => [file, ...withImports(file.dependencies)]))];
}
