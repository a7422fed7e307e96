import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiClient, CallOptions, Outcome, Target } from "./clients/client.ts";
import type { Protocol } from "./clients/protocols.ts";
import { importFixture } from "./fixture.ts";
import { type MintedKey, mintKey } from "./keys.ts";
import type { Input, Operation } from "./operations.ts";
import { type Exit, mustRun, type Running, type Surroundings, startPetstore } from "./petstore.ts";

export type { MintedKey } from "./keys.ts";

/** A store in its own directory, and the commands that use it. */
export class TestStore {
  readonly directory = mkdtempSync(join(tmpdir(), "petstore-api-"));
  readonly db = join(this.directory, "petstore.db");

  /** Creates a key by the flags of `keys create`. By default it has the business plan and all scopes. */
  async mintKey(...flags: readonly string[]): Promise<MintedKey> {
    return mintKey(this.db, flags);
  }

  /** Creates an enterprise key with these limits. */
  mintQuota(perMinute: number, perDay: number): Promise<MintedKey> {
    return this.mintKey("--plan", "enterprise", "--per-minute", String(perMinute), "--per-day", String(perDay));
  }

  /** Runs a command on this store. Returns its stdout. */
  run(...args: readonly string[]): Promise<string> {
    return mustRun(...args, "--db", this.db);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A server in its own process, started as users start it. */
export class TestServer implements Target {
  readonly store: TestStore;
  readonly origin: string;
  /** The origin of the operator port. */
  readonly opsOrigin: string;
  readonly ca: string | undefined;
  /** The line that said that the server is ready. */
  readonly readyLine: string;
  readonly #process: Running;
  readonly #clients = new Map<Protocol, ApiClient>();

  constructor(process: Running, store: TestStore, lines: readonly string[], ca: string | undefined) {
    const [api, ops] = lines.map((line) => /https?:\/\/\S+:\d+/.exec(line)?.[0]);
    if (api === undefined || ops === undefined) {
      throw new Error(`the server's first lines name no addresses: ${lines.join(" | ")}`);
    }
    this.#process = process;
    this.store = store;
    this.origin = api;
    this.opsOrigin = ops;
    this.readyLine = lines[0] ?? "";
    this.ca = ca;
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** The log: the stderr so far. */
  get log(): string {
    return this.#process.log();
  }

  get port(): number {
    return Number(new URL(this.origin).port);
  }

  /** Calls an operation over a protocol. Connections are kept for the next call. */
  call<O extends Operation>(protocol: Protocol, operation: O, input: Input<O>, options?: CallOptions) {
    let client = this.#clients.get(protocol);
    if (client === undefined) {
      client = protocol.open(this);
      this.#clients.set(protocol, client);
    }
    return client.call(operation, input, options) as Promise<Outcome<O>>;
  }

  /** Resolves when the server has ended by itself. */
  ended(): Promise<Exit> {
    return this.#process.end();
  }

  /** Ends the server, and keeps its store. Resolves to its exit code, or the name of the signal that killed it. */
  end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<Exit> {
    this.closeClients();
    return this.#process.end(signal);
  }

  /** Closes the connections that calls have opened. */
  closeClients(): void {
    for (const client of this.#clients.values()) {
      client.close();
    }
    this.#clients.clear();
  }

  /** Ends the server and removes its store. */
  async stop(): Promise<void> {
    await this.end("SIGKILL");
    this.store.remove();
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
  const args = ["serve", "--port", "0", "--ops-port", "0", "--db", store.db, ...flags];
  const running = startPetstore(args, surroundings);
  const lines = [await running.nextLine(), await running.nextLine()].filter((line) => line !== undefined);
  if (lines.length < 2) {
    throw new Error(`the server ended before it was ready: ${lines.join(" | ")} ${running.log()}`);
  }
  return new TestServer(running, store, lines, ca);
}
