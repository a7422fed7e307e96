import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { projectRoot } from "../../support/petstore.ts";

const chapter = readFileSync(join(projectRoot, "src/reference/chapters/limits.md"), "utf8");
const [, sample = ""] = /^```ts\n(.*?)^```/ms.exec(chapter) ?? [];
const script = `${stripTypeScriptTypes(sample)}\nexport { call };`;
const { call } = (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as {
  readonly call: (request: () => Promise<Response>) => Promise<Response>;
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const broken = new TypeError("fetch failed");
const wait = (seconds: number) => new Response("", { status: 429, headers: { "Retry-After": String(seconds) } });
const answer = (status: number) => new Response("", { status });

it.each<[title: string, outcomes: (Response | Error)[], waitsSeconds: number[]]>([
  ["is not made again when it succeeds", [answer(200)], []],
  ["is not made again when it is wrong", [answer(404)], []],
  ["waits as a 429 says", [wait(18), answer(200)], [18]],
  ["waits ever longer after failures", [answer(503), broken, answer(500), answer(200)], [1, 2, 4]],
  ["ends with the last answer", Array(5).fill(answer(503)), [1, 2, 4, 8]],
  ["ends with the last error", Array(5).fill(broken), [1, 2, 4, 8]],
])("a call by the reference's sample %s", async (_title, outcomes, waitsSeconds) => {
  const startedAt = Date.now();
  const madeAt: number[] = [];
  const outcome = call(() => {
    const next = outcomes[madeAt.length] as Response | Error;
    madeAt.push((Date.now() - startedAt) / 1_000);
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  }).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await outcome).toBe(outcomes.at(-1));
  expect(madeAt.slice(1).map((at, i) => at - (madeAt[i] as number))).toEqual(waitsSeconds);
});
