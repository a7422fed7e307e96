import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { onTestFinished } from "vitest";

/** A reader's visit to the reference, and what went on behind it. */
export interface Visit {
  readonly page: Page;
  /** What the browser complained of: errors and warnings on the console, and errors that nothing caught. */
  readonly complaints: readonly string[];
  /** The origins of all requests. */
  readonly origins: ReadonlySet<string>;
}

/** Somebody with a browser: tabs share what is cached and chosen. Nothing moves by itself. */
export function createReader(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ reducedMotion: "reduce", ...options });
}

/** As `openReference`, in a tab that the end of the test closes. */
export async function visit(reader: BrowserContext, address: string): Promise<Visit> {
  const visited = await openReference(reader, address);
  onTestFinished(() => visited.page.close());
  return visited;
}

/** Opens the reference in a tab, and waits until its scripts have run. `address` begins with the origin. */
export async function openReference(reader: BrowserContext, address: string): Promise<Visit> {
  const page = await reader.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      complaints.push(message.text());
    }
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => origins.add(new URL(request.url()).origin));
  await page.goto(address, { waitUntil: "load" });
  return { page, complaints, origins };
}
