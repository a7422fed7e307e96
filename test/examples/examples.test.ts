import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  key = (await server.store.mintKey()).key;
});

afterAll(() => server?.stop());

const runs = {
  ts: { command: process.execPath, args: [] },
  sh: { command: "sh", args: [] },
};

/** Runs an example on the server of this test, as its comment says. Returns the lines that it prints. */
async function run(example: string): Promise<string[]> {
  const { command, args } = example.endsWith(".ts") ? runs.ts : runs.sh;
  const env = { ...process.env, PETSTORE_API_KEY: key, BASE_URL: `${server.origin}/v1` };
  const running = promisify(execFile)(command, [...args, example], { cwd: join(projectRoot, "examples"), env });
  return (await running).stdout.trim().split(/\r?\n/);
}

/** What the examples print of the fixture's pending pets, before they change pet 7. */
const stock = (seven: number) => [
  "pet 1: 1 in stock",
  "pet 4: 4 in stock",
  `pet 7: ${seven} in stock`,
  expect.stringMatching(/^pet 9223372036854775807|^pet 9223372036854776000/),
];

describe("the example", () => {
  // In this order: each finds what the one before it has set.
  it.each([
    [
      "connect.ts",
      [
        ...stock(12),
        "pet 7 now has 5",
        "there is no pet 404404",
        expect.stringMatching(/^\d+ requests left until 20\S+Z$/),
      ],
    ],
    [
      "grpc-js.ts",
      [
        "5 stock entries",
        "pet 7 now has 6",
        "NOT_FOUND: There is no pet 404404. List the inventory to see which there are.",
        expect.stringMatching(/^\d+ requests left$/),
      ],
    ],
    ["fetch.ts", [...stock(6), "pet 7 now has 7", expect.stringMatching(/^\d+ requests left$/)]],
    [
      "curl.sh",
      [
        expect.stringMatching(/^\[.*\{"petId":7,"quantity":7,"status":"pending"\}.*\]$/),
        '{"petId":7,"quantity":8,"status":"pending"}',
        ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-policy", "ratelimit"].map(
          (name) => expect.stringMatching(`^${name}: `),
        ),
      ],
    ],
  ])("%s does what it says", async (example, lines) => {
    expect(await run(example)).toEqual(lines);
  });

  it("connect.ts stands in the client's README as it is", () => {
    const [, code = "none"] = /\*\/\n(.*)/s.exec(readFileSync(join(projectRoot, "examples/connect.ts"), "utf8")) ?? [];
    expect(readFileSync(join(projectRoot, "client/README.md"), "utf8")).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  });
});
