import { defineConfig } from "vitest/config";
import SlowestFiles from "./test/support/slowest-files.ts";

/** Take minutes, or measure times: `npm run test:long` runs them alone, and with more of everything. */
const long = [
  "test/security/**/*.test.ts",
  "test/faults/**/*.test.ts",
  "test/soak/**/*.test.ts",
  "test/api/{flat-costs,million}.test.ts",
];

/** Left out of `npm test`, which is to take two minutes. `npm run test:all` runs them, too. */
const slow = [
  ...long,
  "test/{browser,examples,packaging,readme,real-data}/**/*.test.ts",
  "test/cli/**/{config,import,interruption,keys-update,maintenance,serve,signals,unwilling-system}.test.ts",
  "test/observability/{alert-cases,prometheus}.test.ts",
  "test/tools/openapi.test.ts",
];

/** By mode; `npm run test:cloning` runs the API's tests behind interceptors that clone every request and response. */
const included: Readonly<Record<string, string[]>> = { long, cloning: ["test/api/**/*.test.ts"] };

/** Whoever names files wants those, slow or not. */
const areFilesNamed = process.argv.some((argument) => /^(\.\/)?test\//.test(argument));

export default defineConfig(({ mode }) => ({
  test: {
    include: included[mode] ?? ["test/**/*.test.ts"],
    exclude: mode === "test" && !areFilesNamed ? slow : [],
    env: {
      PETSTORE_TEST_LONG: mode === "long" ? "1" : "0",
      ...(mode === "cloning" && { TEST_INTERCEPTORS: "cloning" }),
    },
    // A test changes nothing that another one sees: so files share a worker, and what it has loaded.
    isolate: false,
    // The tests mostly wait for servers of their own.
    maxWorkers: mode === "long" ? 1 : 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", new SlowestFiles()],
  },
}));
