/**
 * Takes pictures of the reference's main views, light, dark and on a phone, for people to look at, in `screenshots/`.
 *
 *     node tools/screenshots.ts
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launchBrowser } from "../test/browser/browser.ts";
import { executed, openOperation, operation, useKey } from "../test/browser/reference-page.ts";
import { projectRoot } from "../test/support/petstore.ts";
import { startServer } from "../test/support/server.ts";

/** Where the pictures are taken. */
interface Stage {
  readonly browser: Browser;
  readonly origin: string;
  readonly folder: string;
  /** Mints a key that has one request a minute. */
  readonly mintSmallKey: () => Promise<string>;
}

/** What is to be seen, and how to get there. */
type View = (page: Page, stage: Stage) => Promise<void>;

const views: Readonly<Record<string, View>> = {
  overview: (page) => showAnchor(page, "overview"),
  limits: (page) => showAnchor(page, "plans-and-limits-a-429-worked-through"),
  errors: (page) => showAnchor(page, "errors-all-codes"),
  versioning: (page) => showAnchor(page, "versioning-and-stability"),
  rpc: (page) => showAnchor(page, "grpc-and-connect"),
  operations: (page) => showAnchor(page, "operations"),
  operation: (page) => openOperation(page, "updateInventory"),
  answer: showAnswer,
  refused: showRefusal,
  schema: showSchema,
};

const looks: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 375, height: 812 }, colorScheme: "light", deviceScaleFactor: 2, hasTouch: true },
};

async function takeScreenshots(stage: Stage): Promise<void> {
  mkdirSync(stage.folder, { recursive: true });
  for (const [look, options] of Object.entries(looks)) {
    const context = await stage.browser.newContext({ reducedMotion: "reduce", ...options });
    for (const [name, show] of Object.entries(views)) {
      const page = await context.newPage();
      await page.goto(`${stage.origin}/docs`);
      await page.locator(".opblock").first().waitFor();
      await show(page, stage);
      await page.screenshot({ path: join(stage.folder, `${name}-${look}.png`) });
      await page.close();
    }
    await context.close();
  }
}

async function showAnchor(page: Page, anchor: string): Promise<void> {
  await page.locator(`[id="${anchor}"]`).evaluate((element) => element.scrollIntoView());
}

async function showAnswer(page: Page, { mintSmallKey }: Stage): Promise<void> {
  await useKey(page, await mintSmallKey());
  await openOperation(page, "updateInventory");
  await executed(page, "updateInventory");
  await operation(page, "updateInventory")
    .locator(".live-responses-table")
    .evaluate((element) => element.scrollIntoView());
}

async function showSchema(page: Page): Promise<void> {
  await openOperation(page, "getPet");
  const tab = operation(page, "getPet").getByRole("tab", { name: "Schema" }).first();
  await tab.click();
  await tab.evaluate((element) => element.scrollIntoView());
}

async function showRefusal(page: Page, { mintSmallKey }: Stage): Promise<void> {
  await useKey(page, await mintSmallKey());
  await openOperation(page, "listInventory");
  await executed(page, "listInventory");
  const status = await executed(page, "listInventory");
  if (status !== 429) {
    throw new Error(`the second request was answered ${status}`);
  }
  await page.locator(".notice").scrollIntoViewIfNeeded();
}

const browser = await launchBrowser();
try {
  const server = await startServer();
  try {
    const mintSmallKey = async () => (await server.store.mintQuota(1, 100)).key;
    await takeScreenshots({ browser, origin: server.origin, folder: join(projectRoot, "screenshots"), mintSmallKey });
  } finally {
    await server.stop();
  }
} finally {
  await browser.close();
}
