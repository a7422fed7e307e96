import type { BrowserContext, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { browserMissing, launchBrowser, warnWithoutBrowser } from "./browser.ts";

/** Tests that need a browser. They are skipped without one. */
export const describeInBrowser = describe.skipIf(browserMissing !== undefined);

/** The server and the browser for the tests of a file. */
export interface Stage {
  readonly server: TestServer;
  /** The address of the reference. */
  readonly docs: string;
  /** A browser profile that the tests share. */
  readonly reader: BrowserContext;
  /** Creates another profile. The tabs of a profile share cache and storage. Animations are off. */
  createReader(options?: BrowserContextOptions): Promise<BrowserContext>;
}

/** How a stage is set up. */
export interface StageOptions {
  /** Starts the server. By default it serves an empty store. */
  readonly start?: () => Promise<TestServer>;
  readonly reader?: BrowserContextOptions;
}

/**
 * Sets a stage up before the tests of this file, and takes it down after them. It has no members until then, nor without a
 * browser: then this says so.
 */
export function createStage({ start = () => serve(new TestStore()), reader }: StageOptions = {}): Stage {
  warnWithoutBrowser();
  const stage = {} as Stage;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    if (browserMissing === undefined) {
      const [server, browser] = await Promise.all([start(), launchBrowser()]);
      ends.push(
        () => browser.close(),
        () => server.stop(),
      );
      const createReader = (options: BrowserContextOptions = {}) =>
        browser.newContext({ reducedMotion: "reduce", ...options });
      Object.assign(stage, { server, docs: `${server.origin}/docs`, reader: await createReader(reader), createReader });
    }
  });
  afterAll(async () => {
    for (const end of ends) {
      await end();
    }
  });
  return stage;
}
