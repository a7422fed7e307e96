import { RedisServer } from "./redis-server.ts";

/** More than the stores of a test run. */
const databases = 10_000;

let starting: Promise<RedisServer> | undefined;
const urls = new WeakMap<object, string>();
let used = 0;

/**
 * The flags by which a server on a store has Valkey count its limits, as `npm run test:shared-limits` has it; none
 * otherwise. Each store has a database of its own in one Redis, which keeps them on disk, as servers ask for, and ends
 * with this process.
 */
export async function limitsFlags(store: object): Promise<readonly string[]> {
  if (process.env.TEST_LIMITS !== "shared") {
    return [];
  }
  starting ??= RedisServer.start({ args: ["--databases", String(databases), "--appendonly", "yes"] });
  const { url } = await starting;
  const own = urls.get(store) ?? `${url}/${++used}`;
  urls.set(store, own);
  return ["--limits", own];
}
