import { defineConfig } from "vitest/config";

/** `npm run test:long` runs alone what takes minutes, or measures times. */
const longOnes = ["test/security/**/*.test.ts", "test/faults/**/*.test.ts", "test/soak/**/*.test.ts"];

export default defineConfig(({ mode }) => {
  const isLong = mode === "long";
  return {
    test: {
      include: isLong ? [...longOnes, "test/api/{flat-costs,million}.test.ts"] : ["test/**/*.test.ts"],
      env: { PETSTORE_TEST_LONG: isLong ? "1" : "0" },
      // The tests mostly wait for servers of their own.
      maxWorkers: isLong ? 1 : 3,
      testTimeout: 30_000,
      hookTimeout: 60_000,
    },
  };
});
