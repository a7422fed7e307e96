import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browserMissing, launchBrowser } from "../browser/browser.ts";
import { pets } from "../support/fixture.ts";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

if (browserMissing !== undefined) {
  console.warn(browserMissing);
}

let endPageServer: () => void;
let pageUrl: string;
let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  if (browserMissing === undefined) {
    await startPageServer();
    server = await startServer("--cors-origin", pageUrl);
    browser = await launchBrowser();
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  endPageServer?.();
});

async function startPageServer(): Promise<void> {
  const args = ["examples/browser/serve.ts"];
  const child = spawn(process.execPath, args, { cwd: projectRoot, env: { ...process.env, PORT: "0" } });
  process.once("exit", () => child.kill());
  endPageServer = () => child.kill();
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  pageUrl = /http:\S+/.exec(String(value))?.[0] ?? "";
}

/** Opens the page, and has it list the stock with a key. Returns it once it says how that went. */
async function list(apiKey: string): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("requestfailed", (request) => faults.push(request.url()));
  await page.goto(pageUrl);
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
