import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserMissing, launchBrowser } from "../browser/browser.ts";
import { pets } from "../support/fixture.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { type PageServer, startPageServer } from "./page-server.ts";

if (browserMissing !== undefined) {
  console.warn(browserMissing);
}

let pages: PageServer;
let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  if (browserMissing === undefined) {
    pages = await startPageServer("examples/browser/serve.ts");
    server = await startServer("--cors-origin", pages.url);
    browser = await launchBrowser();
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  pages?.end();
});

/** Opens the page, and has it list the stock with a key. Returns it once it says how that went. */
async function list(apiKey: string): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("requestfailed", (request) => faults.push(request.url()));
  await page.goto(pages.url);
  await page.getByLabel("Address").fill(`${server.origin}/v1`);
  await page.getByLabel("API key").fill(apiKey);
  await page.getByRole("button", { name: "List" }).click();
  await page.getByRole("status").filter({ hasText: /\S/ }).waitFor();
  return { page, faults };
}

describe.skipIf(browserMissing !== undefined)("the page", () => {
  it("lists the stock over Connect, and shows the limits", async () => {
    const { key } = await server.store.mintQuota(50, 1_000);
    const { page, faults } = await list(key);
    const cells = await page.getByRole("cell").allTextContents();
    expect(cells).toEqual(pets.flatMap(({ id, quantity }) => [String(id), String(quantity)]));
    expect(await page.getByRole("status").textContent()).toBe(`${50 - Math.ceil(pets.length / 5)} of 50 requests left`);
    expect(faults).toEqual([]);
  });

  it("says why a key is refused", async () => {
    const { page, faults } = await list("psk_wrong");
    expect(await page.getByRole("status").textContent()).toMatch(/^API_KEY_INVALID: /);
    expect(faults).toEqual([]);
  });
});
