import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { axeFaults } from "../browser/axe.ts";
import { browserMissing, launchBrowser } from "../browser/browser.ts";
import { rest } from "../support/clients/protocols.ts";
import { beyondDouble, pets } from "../support/fixture.ts";
import { type MintedKey, serve, startServer, type TestServer } from "../support/server.ts";
import { type PageServer, startPageServer } from "./page-server.ts";

if (browserMissing !== undefined) {
  console.warn(browserMissing);
}

let server: TestServer;
let key: MintedKey;
let pages: PageServer;
let browser: Browser;

beforeAll(async () => {
  if (browserMissing === undefined) {
    server = await startServer();
    key = await server.store.mintKey();
    pages = await startPageServer("examples/live/serve.ts", {
      BASE_URL: `${server.origin}/v1`,
      PETSTORE_API_KEY: key.key,
    });
    browser = await launchBrowser();
  }
});

afterAll(async () => {
  await browser?.close();
  pages?.end();
  await server?.stop();
});

async function show(options: BrowserContextOptions = {}): Promise<{ page: Page; faults: string[] }> {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => faults.push(message.text()));
  await page.goto(pages.url);
  await page
    .getByRole("status")
    .filter({ hasText: /^live$/ })
    .waitFor();
  return { page, faults };
}

function set(petId: bigint, quantity: bigint) {
  return server.call(rest, "updateInventory", { petId, update: { quantity } }, { key: key.key });
}

function quantityOf(page: Page, petId: bigint): Promise<string | null> {
  return page
    .locator("tr", { has: page.locator(`td:text-is("${petId}")`) })
    .locator("td")
    .nth(1)
    .textContent();
}

describe.skipIf(browserMissing !== undefined)("the live page", { timeout: 60_000 }, () => {
  it("shows the stock, and each change by itself", async () => {
    const { page, faults } = await show();
    const cells = await page.getByRole("cell").allTextContents();
    expect(cells).toEqual(pets.flatMap(({ id, quantity, status }) => [String(id), String(quantity), status]));
    await set(7n, beyondDouble);
    await expect.poll(() => quantityOf(page, 7n)).toBe(String(beyondDouble));
    expect(await page.content()).not.toContain(key.key);
    expect(faults).toEqual([]);
  });

  it.each(["light", "dark"] as const)("is accessible, and fits a phone, in %s colours", async (colorScheme) => {
    const { page } = await show({ colorScheme, viewport: { width: 320, height: 700 } });
    expect(await axeFaults(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });

  it("says when the service is away, and catches up when it is back", async () => {
    const { page } = await show();
    const { port, store } = server;
    await server.end();
    await page.getByRole("status").filter({ hasText: "the service cannot be reached" }).waitFor();
    server = await serve(store, { flags: ["--port", String(port)] });
    await set(7n, 4_711n);
    await expect.poll(() => quantityOf(page, 7n), { timeout: 10_000 }).toBe("4711");
    await page
      .getByRole("status")
      .filter({ hasText: /^live$/ })
      .waitFor();
  });

  it("says when its own server is away, whose end tells why", async () => {
    const { page } = await show();
    await server.store.run("keys", "revoke", key.id);
    const { code, stderr } = await pages.ended;
    expect(code).toBe(1);
    expect(stderr).toContain("[unauthenticated]");
    await page.getByRole("status").filter({ hasText: "no connection" }).waitFor();
  });
});
