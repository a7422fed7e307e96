import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pets } from "../support/fixture.ts";
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

/** Starts an example on the server of this test, as its comment says. */
function start(example: string, ...values: string[]) {
  const { command, args } = example.endsWith(".ts") ? runs.ts : runs.sh;
  const env = { ...process.env, PETSTORE_API_KEY: key, BASE_URL: `${server.origin}/v1` };
  return promisify(execFile)(command, [...args, example, ...values], { cwd: join(projectRoot, "examples"), env });
}

/** Runs an example. Returns the lines that it prints. */
async function run(example: string): Promise<string[]> {
  return linesOf((await start(example)).stdout);
}

function linesOf(stdout: string): string[] {
  return stdout.trim().split(/\r?\n/);
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
    [
      "till.ts",
      ["sold one of pet 7: 7 left", "the same receipt again: 7 left", "a million more: refused, there are not so many"],
    ],
    [
      "checkout.ts",
      [
        "cart 5: 1 held, 6 of 7 left for others",
        "cart 5: sold",
        "cart 6: 1 held, 5 of 6 left for others",
        "cart 6: given back",
      ],
    ],
    ["stock-take.ts", ["somebody wrote meanwhile: counting again", "pet 7: 9 counted"]],
    ["mirror.ts", [`${pets.length} pets, 9 of pet 7`, "pet 7: 9 → 8", "8 of pet 7 in the end"]],
  ])("%s does what it says", async (example, lines) => {
    expect(await run(example)).toEqual(lines);
  });

  it("stock-take.ts fails with the fault of its read", async () => {
    await expect(start("stock-take.ts", "404404")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Error: PET_NOT_FOUND: There is no pet 404404."),
    });
  });

  it("nightly.sh makes the changes that it can, and fails for one that is refused", async () => {
    const failure = await start("nightly.sh").catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 1, stderr: "nightly.sh: a change was refused; its error says why\n" });
    expect(linesOf((failure as { stdout: string }).stdout)).toEqual([
      expect.stringMatching(
        /^\[\{"petId":7,"item":\{"petId":7,"quantity":18,"status":"pending"\}\},\{"petId":8,"item":\{"petId":8,"quantity":4,"status":"available"\}\},\{"petId":404404,"error":\{"code":"PET_NOT_FOUND",.*"status":404\}\}\]$/,
      ),
    ]);
  });

  it("connect.ts stands in the client's README as it is", () => {
    const [, code = "none"] = /\*\/\n(.*)/s.exec(readFileSync(join(projectRoot, "examples/connect.ts"), "utf8")) ?? [];
    expect(readFileSync(join(projectRoot, "client/README.md"), "utf8")).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  });
});
