import { afterAll, afterEach, beforeAll } from "vitest";
import { memoryBytes } from "../support/process-usage.ts";
import type { TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";
import { Bystander, type Seen } from "./bystander.ts";

export const mebibyte = 1_048_576;

/** The environment of a server with so small a heap that what were kept of each attack would soon end the process. */
export const smallHeap = { NODE_OPTIONS: "--max-old-space-size=192" };

/** The server that the tests of a file attack, one after the other. It must be unharmed after each. */
export interface AttackedServer {
  readonly server: TestServer;
  /** A key whose quota no test uses up. */
  readonly key: string;
  /** Attacks the server, and returns what others have seen meanwhile, and by how much it has grown. */
  withstand(attack: () => Promise<unknown>): Promise<Withstood>;
}

export interface Withstood {
  readonly seen: Seen;
  readonly grownMebibytes: number;
}

/** Starts a server before the tests of a file, and stops it after them; there is none before the first test runs. */
export function useAttackedServer(start: () => Promise<TestServer>): AttackedServer {
  let server: TestServer;
  let key: string;
  let bystander: Bystander;

  beforeAll(async () => {
    server = await start();
    ({ key } = await server.store.mintQuota(1_000_000, 10_000_000));
    bystander = await Bystander.start(server, key);
  });

  afterEach(() => expectUnharmed(server, key));

  afterAll(async () => {
    await bystander?.stop();
    await server?.stop();
  });

  return {
    get server() {
      return server;
    },
    get key() {
      return key;
    },
    async withstand(attack) {
      const before = memoryBytes(server.pid);
      const seen = await bystander.watch(attack);
      return { seen, grownMebibytes: (memoryBytes(server.pid) - before) / mebibyte };
    },
  };
}
