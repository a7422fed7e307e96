/**
 * Takes pictures of the reference's main views at four widths, light and dark, for people to look at, in `screenshots/`.
 *
 *     bin/node tools/screenshots.ts
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../test/browser/browser.ts";
import { operation, sendButton, sent, useKey } from "../test/browser/reference-page.ts";
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

/** A view: the anchor of a link, and what the reader does there. */
interface View {
  readonly anchor: string;
  readonly act?: (page: Page, stage: Stage) => Promise<unknown>;
}

const views: Readonly<Record<string, View>> = {
  overview: { anchor: "overview" },
  operation: { anchor: "update-inventory" },
  answer: { anchor: "update-inventory", act: answer },
  refused: { anchor: "list-inventory", act: refuse },
  fault: { anchor: "update-inventory", act: mistake },
  schema: { anchor: "get-limits" },
  batch: { anchor: "batch-update-inventory" },
  live: { anchor: "watch-stock-changes", act: watch },
  stock: { anchor: "changing-stock" },
  watching: { anchor: "changing-stock-watching" },
  webhooks: { anchor: "changing-stock-webhooks" },
  authentication: { anchor: "authentication" },
  limits: { anchor: "plans-and-limits" },
  errors: { anchor: "errors" },
  rpc: { anchor: "grpc-and-connect" },
  versioning: { anchor: "versioning-and-stability" },
  search: { anchor: "overview", act: (page) => page.getByRole("button", { name: "Search" }).click() },
};

const widths = [390, 768, 1440, 1920];

async function takeScreenshots(stage: Stage): Promise<void> {
  mkdirSync(stage.folder, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of widths) {
      const viewport = { width, height: width < 500 ? 844 : 950 };
      const context = await stage.browser.newContext({ reducedMotion: "reduce", colorScheme, viewport });
      for (const [name, { anchor, act }] of Object.entries(views)) {
        const page = await context.newPage();
        await page.goto(`${stage.origin}/docs#${anchor}`);
        await act?.(page, stage);
        await page.screenshot({ path: join(stage.folder, `${name}-${width}-${colorScheme}.png`) });
        await page.close();
      }
      await context.close();
    }
  }
}

async function answer(page: Page, { mintSmallKey }: Stage): Promise<void> {
  await useKey(page, await mintSmallKey());
  await sent(page, "updateInventory");
}

async function refuse(page: Page, { mintSmallKey }: Stage): Promise<void> {
  await useKey(page, await mintSmallKey());
  await sent(page, "listInventory");
  const status = await sent(page, "listInventory");
  if (status !== 429) {
    throw new Error(`the second request was answered ${status}`);
  }
}

async function watch(page: Page, { mintSmallKey }: Stage): Promise<void> {
  await useKey(page, await mintSmallKey());
  await sendButton(page, "watchStockChanges").click();
  await operation(page, "watchStockChanges").locator(".feed li").first().waitFor();
}

async function mistake(page: Page, { mintSmallKey }: Stage): Promise<void> {
  await useKey(page, await mintSmallKey());
  await operation(page, "updateInventory").locator("textarea").fill('{"quantity": 3.5}');
  await sent(page, "updateInventory");
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
