import type { BrowserContext, Page } from "playwright-core";
import { onTestFinished } from "vitest";

/** A reader's visit to the reference, with its console and requests. */
export interface Visit {
  readonly page: Page;
  /** Errors and warnings on the console, and uncaught errors. */
  readonly complaints: readonly string[];
  /** The origins of all requests. */
  readonly origins: ReadonlySet<string>;
}

/** As `openReference`, in a tab that closes when the test ends. */
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
