import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Cut, CuttingProxy, cuts } from "../client/cutting-proxy.ts";
import { type PageServer, startPageServer } from "../examples/page-server.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { readMetrics } from "../support/metrics.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";
import { browserMissing, launchBrowser, warnWithoutBrowser } from "./browser.ts";

warnWithoutBrowser();

let pages: PageServer;
let server: TestServer;
let browser: Browser;
let key: MintedKey;
let proxy: CuttingProxy;
let page: Page;

beforeAll(async () => {
  if (browserMissing === undefined) {
    pages = await startPageServer("examples/browser/serve.ts");
    server = await startServer("--cors-origin", pages.url);
    key = await server.store.mintQuota(100_000, 100_000);
    browser = await launchBrowser();
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  pages?.end();
});

beforeEach(async () => {
  if (browserMissing === undefined) {
    proxy = await CuttingProxy.start(() => server.port);
    page = await browser.newPage();
    await page.goto(pages.url);
    await page.evaluate(setUp(proxy.origin, key.key));
  }
});

afterEach(async () => {
  await page?.close();
  proxy?.stop();
});

/** In the page: `petstore` is a client whose clock goes thirty times as fast: a stall takes 1.5 s. */
function setUp(baseUrl: string, apiKey: string): string {
  return `(async () => {
    const { createPetstoreClient } = await import("petstore-inventory-client");
    const sleep = (delayMs, signal) => new Promise((resolve, reject) => {
      setTimeout(resolve, delayMs / 30);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    const timing = { now: () => Date.now() * 30, random: Math.random, sleep };
    const options = ${JSON.stringify({ baseUrl, apiKey })};
    globalThis.petstore = createPetstoreClient({ ...options, timing });
  })()`;
}

async function set(petId: bigint, quantity: bigint): Promise<void> {
  const { failure } = await server.call(rest, "updateInventory", { petId, update: { quantity } }, { key: key.key });
  expect(failure).toBeUndefined();
}

describe.skipIf(browserMissing !== undefined)("the client in a browser", { timeout: 60_000 }, () => {
  it.each<Cut>(cuts)("watches and mirrors over connections that end with a %s", async (how) => {
    await page.evaluate(`(async () => {
      globalThis.mirror = await petstore.mirrorInventory();
      globalThis.watch = petstore.watchStockChanges({ after: mirror.cursor });
      globalThis.told = [];
      (async () => {
        for await (const { petId, after } of watch) {
          told.push(petId + ": " + after);
        }
        told.push("left");
      })();
    })()`);
    for (let quantity = 1n; quantity <= 3n; quantity += 1n) {
      await set(7n, quantity);
      await until(async () => (await page.evaluate("String(mirror.get(7n).quantity)")) === String(quantity), 15_000);
      proxy.cut(how);
    }
    await set(7n, 4n);
    await until(
      async () => (await page.evaluate("told.length >= 4 && mirror.get(7n).quantity === 4n")) === true,
      15_000,
    );
    await page.evaluate("Promise.all([watch.return(), mirror.close()])");
    expect(await page.evaluate("told")).toEqual([...[1, 2, 3, 4].map((quantity) => `7: ${quantity}`), "left"]);
    await until(async () => (await readMetrics(server)).sum("petstore_streams_open") === 0, 15_000);
  });

  it("tells why a watch ends", async () => {
    const reason = `petstore.watchStockChanges({ petId: [404404n] }).next().catch((error) => error.rawMessage)`;
    expect(await page.evaluate(reason)).toContain("There is no pet 404404");
  });
});
