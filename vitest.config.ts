import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { canHaveNodes } from "./test/support/left-out.ts";
import { postgresPrograms } from "./test/support/postgres/programs.ts";
import SlowestFiles from "./test/support/slowest-files.ts";

// Each store that a test opens has a thread, which compiles its modules: that took most of the time of many files.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/petstore");

/** Whoever names files wants those, slow or not. */
const areFilesNamed = process.argv.some((argument) => /^(\.\/)?test\//.test(argument));

/** Take minutes, or measure times: `npm run test:long` runs them alone, and with more of everything. */
const long = [
  "test/security/**/*.test.ts",
  "test/{faults,nodes}/**/*.test.ts",
  "test/soak/**/*.test.ts",
  "test/api/{flat-costs,million}.test.ts",
  "test/cli/start.test.ts",
];

/** Need a PostgreSQL or a Valkey, which each run starts. */
const serverBacked = [
  "test/storage/{copy,postgres}/**/*.test.ts",
  "test/rate-limit/redis/**/*.test.ts",
  "test/{cli/commands/database,observability/store-away,server/shared-limits}.test.ts",
];

/** Left out of `npm test`, which is to take two minutes. `npm run test:all` runs them, too. */
const slow = [
  ...long,
  ...serverBacked,
  // A thread starts for each test. `sqlite-direct.test.ts` runs the same without.
  "test/storage/sqlite.test.ts",
  "test/{browser,examples,packaging,readme,real-data}/**/*.test.ts",
  "test/cli/**/{config,copy,import,interruption,keys,keys-update,maintenance,serve,signals,unwilling-system,webhooks}.test.ts",
  "test/{api/watch-life,client/{following,published}}.test.ts",
  "test/{api/stock/retention,reference/{openapi/answers,page/samples},server/answered-streams}.test.ts",
  "test/observability/{alert-cases,prometheus}.test.ts",
  "test/{bench/databases,tools/{generated,openapi}}.test.ts",
];

/** What depends on who counts the limits. */
const limited = ["test/api/{auth,get-limits,limits,limits-under-load,watch,watch-life}.test.ts"];

/** What tells most of a backend. */
const stored = ["test/api/stock/*.test.ts", "test/api/{auth,inventory-update,lists,overselling,pets,watch}.test.ts"];

/** What tells most of several servers. With the files named, all but those of `ofOneServer` run over several. */
const balanced = [
  "test/api/stock/{cursor,holds,idempotency,versions}.test.ts",
  "test/api/{auth,inventory-update,limits-under-load,overselling,pets,watch}.test.ts",
];

/** They ask for the processor's time or the memory of one process, or break the file of a store. */
const ofOneServer = ["test/api/{flat-costs,million,rare-errors}.test.ts"];

/**
 * By mode. `npm run test:cloning` runs the API's tests behind interceptors that clone every request and response,
 * `npm run test:shared-limits` those of limits by servers that have Valkey count, and `npm run test:postgres` those of
 * the store with a PostgreSQL database for each server. `npm run test:nodes` has three servers behind a load balancer,
 * over PostgreSQL and Valkey, wherever a test starts one.
 */
const included: Readonly<Record<string, string[]>> = {
  long,
  cloning: ["test/api/**/*.test.ts"],
  "shared-limits": limited,
  postgres: stored,
  nodes: areFilesNamed ? ["test/api/**/*.test.ts"] : balanced,
};

/** Whether this machine lacks what all tests of a mode need. */
function lacksServers(mode: string): boolean {
  return (mode === "postgres" && postgresPrograms === undefined) || (mode === "nodes" && !canHaveNodes);
}

function excluded(mode: string): string[] {
  if (lacksServers(mode)) {
    return ["**"];
  }
  return mode === "nodes" ? ofOneServer : mode === "test" && !areFilesNamed ? slow : [];
}

export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: "test/support/postgres/global-setup.ts",
    include: included[mode] ?? ["test/**/*.test.ts"],
    exclude: excluded(mode),
    passWithNoTests: lacksServers(mode),
    env: {
      PETSTORE_TEST_LONG: mode === "long" ? "1" : "0",
      ...(mode === "cloning" && { TEST_INTERCEPTORS: "cloning" }),
      ...(mode === "shared-limits" && { TEST_LIMITS: "shared" }),
      ...(mode === "postgres" && { TEST_DATABASE: "postgres" }),
      ...(mode === "nodes" && { TEST_DATABASE: "postgres", TEST_LIMITS: "shared", TEST_SERVERS: "3" }),
    },
    // A test changes nothing that another one sees: so files share a worker, and what it has loaded.
    isolate: false,
    // The tests mostly wait for servers of their own.
    maxWorkers: mode === "long" ? 1 : 3,
    testTimeout: 60_000,
    // A machine may stand still for a second. Whoever tests how soon something happens names a time.
    expect: { poll: { timeout: 5_000 } },
    hookTimeout: 120_000,
    reporters: ["default", new SlowestFiles()],
  },
}));
