import { join } from "node:path";
import { projectRoot } from "./project.ts";
import { startTraceSink } from "./trace-sink.ts";

/** What is measured: the service, or one of its peers. */
export interface Contender {
  readonly name: string;
  /** Node's arguments that start it on a store. */
  command(db: string): readonly string[];
  /** Whether it claims updates without making them. */
  readonly isBare?: true;
  /** Whether each of its updates is a change in the history. */
  readonly hasHistory?: true;
  /** Further variables of its environment. */
  readonly environment?: () => Promise<NodeJS.ProcessEnv>;
}

function peer(name: string, file: string, ...args: readonly string[]): Contender {
  return { name, command: (db) => [`bench/contenders/${file}.ts`, db, ...args] };
}

/** All contenders. `protos` is a folder with the protos that ours import. */
export function createContenders(protos: string) {
  const service: Contender = {
    name: "petstore",
    hasHistory: true,
    command: (db) => ["src/main.ts", "serve", ..."--port 0 --ops-port 0 --log-level error --db".split(" "), db],
  };
  return {
    service,
    traced: {
      ...service,
      name: "petstore, tracing",
      environment: async () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: await startTraceSink() }),
    },
    fastify: peer("Fastify", "fastify"),
    connectHttp1: peer("connectNodeAdapter", "connect-node", "http1"),
    connectHttp2: peer("connectNodeAdapter", "connect-node", "http2"),
    grpcJs: peer("@grpc/grpc-js", "grpc-js", join(projectRoot, "proto"), protos),
    bareHttp: { ...peer("bare node:http", "bare-http"), isBare: true },
    bareHttp2: { ...peer("bare http2", "bare-http2"), isBare: true },
    readyBytes: peer("ready bytes", "ready-bytes"),
  } satisfies Record<string, Contender>;
}

export type Contenders = ReturnType<typeof createContenders>;
