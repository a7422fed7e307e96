import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Balancer } from "./balancer.ts";
import type { ApiClient, CallOptions, Outcome, Target } from "./clients/client.ts";
import type { Protocol } from "./clients/protocols.ts";
import { importFixture } from "./fixture.ts";
import { type MintedKey, mintKey } from "./keys.ts";
import type { Input, Operation } from "./operations.ts";
import { type Exit, type Running, type Surroundings, startPetstore } from "./petstore.ts";
import { mustRunHere } from "./petstore-here.ts";
import { type ReservedDatabase, reserveDatabases } from "./postgres/databases.ts";
import { limitsFlags } from "./shared-limits.ts";

export type { MintedKey } from "./keys.ts";

/** Whether the stores of servers are databases of PostgreSQL, and no files. */
export const isOnPostgres = process.env.TEST_DATABASE === "postgres";

/** How many servers stand behind one that a test starts, as `npm run test:nodes` has it. */
const serverCount = Number(process.env.TEST_SERVERS ?? 1);

/** Whether what a test starts is several servers: then it sees nothing of a single process. */
export const isSeveral = serverCount > 1;

/** Where a PostgreSQL database is that a store takes. */
const databases = isOnPostgres ? await reserveDatabases() : undefined;

/** A store with a directory of its own, and the commands that use it. */
export class TestStore {
  readonly directory = mkdtempSync(join(tmpdir(), "petstore-api-"));
  readonly #database: ReservedDatabase | undefined;
  /** The store's file, or its URL. */
  readonly db: string;
  /** The flags of the commands that use the store. */
  readonly flags: readonly string[];

  /** Without a database, the test run says where stores are. */
  constructor(database = databases?.reserve()) {
    this.#database = database;
    this.db = database?.url ?? join(this.directory, "petstore.db");
    this.flags = [database === undefined ? "--db" : "--database", this.db];
  }

  /** To be called before the store is used. */
  async prepare(): Promise<void> {
    await this.#database?.make();
  }

  /** Creates a key by the flags of `keys create`. By default it has the business plan and all scopes. */
  async mintKey(...flags: readonly string[]): Promise<MintedKey> {
    await this.prepare();
    return mintKey(this.db, flags);
  }

  /** Creates an enterprise key with these limits. */
  mintQuota(perMinute: number, perDay: number): Promise<MintedKey> {
    return this.mintKey("--plan", "enterprise", "--per-minute", String(perMinute), "--per-day", String(perDay));
  }

  /** Runs a command on this store, in this process: for a server, that is another one. Returns its stdout. */
  async run(...args: readonly string[]): Promise<string> {
    await this.prepare();
    return mustRunHere(...args, ...this.flags);
  }

  remove(): void {
    this.#database?.drop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A process that serves, and what its first lines say. */
interface Serving {
  readonly process: Running;
  readonly readyLine: string;
  readonly origin: string;
  readonly opsOrigin: string;
}

/**
 * A server in its own process, started as users start it. Under `npm run test:nodes` it is several, behind a load
 * balancer: calls take turns among them, and what is one process's own is the first one's.
 */
export class TestServer implements Target {
  readonly store: TestStore;
  readonly origin: string;
  /** The origin of the operator port. */
  readonly opsOrigin: string;
  readonly ca: string | undefined;
  /** The line that said that the server is ready. */
  readonly readyLine: string;
  readonly #processes: readonly Running[];
  readonly #balancer: Balancer | undefined;
  readonly #clients = new Map<Protocol, ApiClient[]>();

  constructor(store: TestStore, servings: readonly Serving[], { ca, balancer }: { ca?: string; balancer?: Balancer }) {
    const [first] = servings as readonly [Serving, ...Serving[]];
    this.#processes = servings.map(({ process }) => process);
    this.#balancer = balancer;
    this.store = store;
    this.origin = balancer === undefined ? first.origin : first.origin.replace(/\d+$/, String(balancer.port));
    this.opsOrigin = first.opsOrigin;
    this.readyLine = first.readyLine;
    this.ca = ca;
  }

  get pid(): number {
    return (this.#processes[0] as Running).pid;
  }

  /** The log: the stderr so far. */
  get log(): string {
    return this.#processes.map((each) => each.log()).join("");
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  /** Calls an operation over a protocol. Connections are kept for the next call. */
  call<O extends Operation>(protocol: Protocol, operation: O, input: Input<O>, options?: CallOptions) {
    const clients = this.#clients.get(protocol) ?? this.#processes.map(() => protocol.open(this));
    const [client, ...others] = clients as [ApiClient, ...ApiClient[]];
    this.#clients.set(protocol, [...others, client]);
    return client.call(operation, input, options) as Promise<Outcome<O>>;
  }

  /** Resolves when the server has ended by itself. */
  ended(): Promise<Exit> {
    return this.#exit();
  }

  /** Ends the server, and keeps its store. Resolves to its exit code, or the name of the signal that killed it. */
  end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<Exit> {
    this.closeClients();
    return this.#exit(signal);
  }

  /** Closes the connections that calls have opened. */
  closeClients(): void {
    for (const client of [...this.#clients.values()].flat()) {
      client.close();
    }
    this.#clients.clear();
  }

  /** Ends the server and removes its store. */
  async stop(): Promise<void> {
    await this.end("SIGKILL");
    this.store.remove();
  }

  /** Resolves to the exit of all processes, which is that of the first one that has not ended well. */
  async #exit(...signals: NodeJS.Signals[]): Promise<Exit> {
    const exits = await Promise.all(this.#processes.map((each) => each.end(...signals)));
    this.#balancer?.close();
    return exits.find((exit) => exit !== 0) ?? 0;
  }
}

/** Starts a server on a new store with the fixture in it. */
export async function startServer(...flags: readonly string[]): Promise<TestServer> {
  return startServerWith({}, ...flags);
}

/** The same, with variables in its environment. */
export async function startServerWith(
  env: Readonly<Record<string, string>>,
  ...flags: readonly string[]
): Promise<TestServer> {
  const store = new TestStore();
  await store.prepare();
  await importFixture(store.db);
  return serve(store, { flags, env });
}

/** The options of a server, beside its store and ports. */
interface Start extends Surroundings {
  readonly flags?: readonly string[];
  /** The certificate that its clients are to trust, in PEM. */
  readonly ca?: string;
}

/** Starts a server on a store. Throws with its output when it ends before it is ready. */
export async function serve(store: TestStore, { flags = [], ca, ...surroundings }: Start = {}): Promise<TestServer> {
  await store.prepare();
  const limits = await limitsFlags(store);
  const args = ["serve", "--port", "0", "--ops-port", "0", ...store.flags, ...limits, ...flags];
  const start = async () => readAddresses(startPetstore(args, surroundings));
  const servings = await Promise.all(Array.from({ length: serverCount }, start));
  const ports = servings.map(({ origin }) => Number(new URL(origin).port));
  const balancer = isSeveral ? { balancer: await Balancer.start(ports) } : {};
  return new TestServer(store, servings, { ...(ca !== undefined && { ca }), ...balancer });
}

/** Waits until a process serves. */
async function readAddresses(process: Running): Promise<Serving> {
  const lines = [await process.nextLine(), await process.nextLine()].filter((line) => line !== undefined);
  if (lines.length < 2) {
    throw new Error(`the server ended before it was ready: ${lines.join(" | ")} ${process.log()}`);
  }
  const [origin, opsOrigin] = lines.map((line) => /https?:\/\/\S+:\d+/.exec(line)?.[0]);
  if (origin === undefined || opsOrigin === undefined) {
    throw new Error(`the server's first lines name no addresses: ${lines.join(" | ")}`);
  }
  return { process, readyLine: lines[0] ?? "", origin, opsOrigin };
}
