import { join } from "node:path";
import type { Certificate } from "../test/support/certificate.ts";
import type { CompiledPeers } from "./build/compiled-peers.ts";
import { type DataSet, storeFlags } from "./data-set.ts";
import type { DatabaseCopy, Databases } from "./databases.ts";
import { projectRoot } from "./project.ts";
import { startTraceSink } from "./trace-sink.ts";
import { startValkey } from "./valkey.ts";

/** What is measured: the service, or one of its peers. */
export interface Contender {
  readonly name: string;
  /** The program that serves; Node by default. */
  readonly program?: string;
  /** The arguments that start it on a store. */
  readonly args: (db: string) => readonly string[];
  /** Whether the machine lacks what builds it. */
  readonly isUnavailable?: boolean;
  /** Whether it claims updates without making them. */
  readonly isBare?: true;
  /** Whether each of its updates is a change in the history. */
  readonly hasHistory?: true;
  /** Starts what its servers use beside their store. */
  readonly startDependencies?: (held: AsyncDisposableStack) => Promise<Dependencies>;
  /** Makes a copy of a data set in a database. Without it the contender has a copy of the file. */
  readonly copyToDatabase?: (data: DataSet) => Promise<DatabaseCopy>;
  /** How many servers share the store; 1 by default. */
  readonly servers?: number;
}

/** What servers use beside their store. */
export interface Dependencies {
  /** Further variables of their environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** The process that counts limits for them. */
  readonly limitsPid?: number;
}

/** What the contenders need. */
export interface ContenderParts {
  /** A folder with the third-party protos that ours import. */
  readonly protos: string;
  /** The certificate of the contenders that serve TLS. */
  readonly certificate: Certificate;
  readonly compiled: CompiledPeers;
  readonly databases: Databases;
}

/** The service, with its defaults. */
export const service: Contender = {
  name: "petstore",
  hasHistory: true,
  args: (db) => ["src/main.ts", "serve", ..."--port 0 --ops-port 0 --log-level error".split(" "), ...storeFlags(db)],
};

export function createContenders({ protos, certificate, compiled, databases }: ContenderParts) {
  const tls = [certificate.certFile, certificate.keyFile];
  const copyToDatabase = (data: DataSet) => databases.copy(data);
  const startDependencies = startLimits;
  const grpcJsProtos = [join(projectRoot, "proto"), protos];
  return {
    service,
    serviceTls: {
      ...service,
      args: (db) => [...service.args(db), "--tls-cert", certificate.certFile, "--tls-key", certificate.keyFile],
    },
    traced: {
      ...service,
      name: "petstore, tracing",
      startDependencies: async () => ({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: await startTraceSink() } }),
    },
    sharedLimits: { ...service, name: "petstore, limits in Valkey", startDependencies },
    postgres: { ...service, name: "petstore, PostgreSQL", copyToDatabase },
    oneServer: { ...service, name: "one server", copyToDatabase, startDependencies },
    twoServers: { ...service, name: "two servers", copyToDatabase, startDependencies, servers: 2 },
    threeServers: { ...service, name: "three servers", copyToDatabase, startDependencies, servers: 3 },
    fastifyPostgres: { ...peer("Fastify with pg", "fastify-postgres"), copyToDatabase },
    fastify: peer("Fastify", "fastify"),
    fastifyTls: peer("Fastify", "fastify", ...tls),
    connectHttp1: peer("connectNodeAdapter", "connect-node", "http1"),
    connectHttp2: peer("connectNodeAdapter", "connect-node", "http2"),
    grpcJs: peer("@grpc/grpc-js", "grpc-js", "h2c", ...grpcJsProtos),
    grpcJsTls: peer("@grpc/grpc-js", "grpc-js", tls.join(","), ...grpcJsProtos),
    bareHttp: { ...peer("bare node:http", "bare-http"), isBare: true },
    bareHttp2: { ...peer("bare http2", "bare-http2"), isBare: true },
    readyBytes: peer("ready bytes", "ready-bytes"),
    goHttp: goPeer(compiled, { name: "Go net/http", server: "http" }),
    goHttpFull: goPeer(compiled, { name: "Go net/http, FULL", server: "http", synchronous: "FULL" }),
    goVanguard: goPeer(compiled, { name: "vanguard-go", server: "vanguard" }),
    goGrpc: goPeer(compiled, { name: "grpc-go", server: "grpc" }),
    rust: compiledPeer("Rust axum", compiled.rust, (db) => [db]),
  } satisfies Record<string, Contender>;
}

export type Contenders = ReturnType<typeof createContenders>;

async function startLimits(held: AsyncDisposableStack): Promise<Dependencies> {
  const { url, pid } = await startValkey(held);
  return { environment: { PETSTORE_LIMITS: url }, limitsPid: pid };
}

function peer(name: string, file: string, ...args: readonly string[]): Contender {
  return { name, args: (db) => [`bench/contenders/${file}.ts`, db, ...args] };
}

/** One of the servers of the program in `contenders/go`. */
interface GoPeer {
  readonly name: string;
  readonly server: "http" | "grpc" | "vanguard";
  readonly synchronous?: "FULL";
}

function goPeer({ go }: CompiledPeers, { name, server, synchronous }: GoPeer): Contender {
  return compiledPeer(name, go, (db) => [server, db, synchronous ?? "NORMAL"]);
}

function compiledPeer(name: string, program: string | undefined, args: Contender["args"]): Contender {
  return program === undefined ? { name, args, isUnavailable: true } : { name, args, program };
}
