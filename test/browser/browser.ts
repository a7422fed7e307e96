import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The Chromium of Debian, unless `CHROMIUM` names another. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Why there is no browser to test with; undefined if there is one. */
export const browserMissing = existsSync(executablePath)
  ? undefined
  : `there is no browser at ${executablePath}: install Chromium, or name one by CHROMIUM`;

/** Says why the tests of a file are skipped. Each file calls it once, as files share what they have loaded. */
export function warnWithoutBrowser(): void {
  if (browserMissing !== undefined) {
    console.warn(`the tests in a browser are skipped: ${browserMissing}`);
  }
}

/** Starts the browser, without any calls to its vendor. */
export function launchBrowser(): Promise<Browser> {
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"];
  return chromium.launch({ executablePath, args: ["--no-sandbox", ...quiet] });
}
