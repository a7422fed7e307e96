import { afterAll, it } from "vitest";
import { Random } from "../../support/random.ts";
import type { TestServer } from "../../support/server.ts";
import { type CaseCount, failure, fuzzTimeoutMs, seedsOf } from "./cases.ts";
import type { Stock } from "./stock.ts";
import { WatchedServer } from "./watched-server.ts";

/** How many cases run together, before the server is looked at. */
const batchSize = 64;

/** Cases that are tried on a server. */
export interface WireCases extends CaseCount {
  /** Is called before each batch. */
  readonly begin?: () => void;
  tryCase(random: Random, watched: WatchedServer): Promise<void>;
  /** Looks at the stock after each batch; by default it must not have changed. */
  readonly judge?: (now: Stock, before: Stock) => void;
  /** Is called after all cases. */
  readonly conclude?: (server: TestServer) => Promise<void>;
}

/**
 * A test that tries so many cases on the server of its file, and looks after each 64 of them whether it is unharmed. Of
 * those that harmed it, the one is sought that does so alone.
 */
export function fuzzWire(promise: string, cases: WireCases): void {
  const seeds = seedsOf(cases);
  // Files may share a worker, and with it this module.
  afterAll(stopSharedServer);
  it(`${promise}: ${seeds.length} cases`, { timeout: fuzzTimeoutMs }, async () => {
    for (let start = 0; start < seeds.length; start += batchSize) {
      await tryBatch(seeds.slice(start, start + batchSize), cases);
    }
    await cases.conclude?.((await sharedServer()).server);
  });
}

/** The server of a file's tests. */
let shared: Promise<WatchedServer> | undefined;

async function stopSharedServer(): Promise<void> {
  const watched = await shared;
  shared = undefined;
  await watched?.stop();
}

function sharedServer(): Promise<WatchedServer> {
  shared ??= WatchedServer.start();
  return shared;
}

async function tryBatch(seeds: readonly number[], cases: WireCases): Promise<void> {
  const watched = await sharedServer();
  try {
    await tryTogether(seeds, cases, watched);
  } catch (reason) {
    shared = undefined;
    // A server that has ended by itself has an exit of its own.
    const exit = await watched.server.end("SIGKILL");
    const lastWords = wordsOfNode(watched.server.log).slice(0, 4_000);
    await watched.stop();
    await tryOneByOne(seeds, cases);
    const circumstances = `${seeds.length} cases together, or what came before; exit ${exit}, log ${lastWords}`;
    throw failure(seeds[0] ?? 0, new Error(`${String(reason)}\n${circumstances}`, { cause: reason }));
  }
}

/** What Node itself wrote, as of an assertion that failed; the log of the server is JSON. */
function wordsOfNode(log: string): string {
  return log.replaceAll(/^\{.*\n/gm, "");
}

/** Throws the failure of the first case that fails alone, on a server that no other has harmed. */
async function tryOneByOne(seeds: readonly number[], cases: WireCases): Promise<void> {
  const watched = await WatchedServer.start();
  try {
    for (const seed of seeds) {
      await tryTogether([seed], cases, watched).catch((reason: unknown) => {
        throw failure(seed, reason);
      });
    }
  } finally {
    await watched.stop();
  }
}

async function tryTogether(seeds: readonly number[], cases: WireCases, watched: WatchedServer): Promise<void> {
  cases.begin?.();
  await Promise.all(seeds.map((seed) => cases.tryCase(new Random(seed), watched)));
  await watched.expectUnharmed(cases.judge);
}
