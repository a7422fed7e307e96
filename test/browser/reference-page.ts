import type { Locator, Page } from "playwright-core";

/** An operation on the page, by its operation id. */
export function operation(page: Page, operationId: string): Locator {
  return page.locator(`#${operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
}

/** Enters an API key in place of the one in use, and waits until the service has accepted it. */
export async function useKey(page: Page, key: string): Promise<void> {
  await openKeyPanel(page);
  const forget = page.getByRole("button", { name: "Forget key" });
  if (await forget.isVisible()) {
    await forget.click();
  }
  await enterKey(page, key);
  await page.locator("form.key[hidden]").waitFor({ state: "attached" });
}

/** Enters any text as a key. */
export async function enterKey(page: Page, key: string): Promise<void> {
  await openKeyPanel(page);
  await page.getByLabel("Your API key").fill(key);
  await page.getByRole("button", { name: "Use key" }).click();
}

/** On a narrow screen, a button opens the key bar. */
async function openKeyPanel(page: Page): Promise<void> {
  const toggle = page.locator(".key-toggle");
  if ((await toggle.isVisible()) && (await toggle.getAttribute("aria-expanded")) === "false") {
    await toggle.click();
  }
}

/** The button that sends an operation. */
export function sendButton(page: Page, operationId: string): Locator {
  return operation(page, operationId).locator("button[type=submit]");
}

/** Sends an operation as it is filled in. Returns the status of the answer once it is shown. */
export async function sent(page: Page, operationId: string): Promise<number> {
  const answered = page.waitForResponse(
    (response) => new URL(response.url()).pathname.startsWith("/v1/") && response.request().method() !== "OPTIONS",
  );
  await sendButton(page, operationId).click();
  const status = (await answered).status();
  await operation(page, operationId)
    .locator(".answer .bar .status", { hasText: String(status) })
    .waitFor();
  return status;
}

/** The body of an operation's answer, as shown. */
export async function shownBody(page: Page, operationId: string): Promise<string> {
  return (await operation(page, operationId).locator(".answer .body code").textContent()) ?? "";
}

/** The visible sample of an operation. */
export async function shownSample(page: Page, operationId: string): Promise<string> {
  const panels = operation(page, operationId).getByRole("tabpanel");
  return (await panels.filter({ visible: true }).locator("code").textContent()) ?? "";
}

/** The notice about the failed answer of an operation. */
export async function notice(page: Page, operationId: string): Promise<string> {
  return (await operation(page, operationId).locator(".notice").textContent()) ?? "";
}

/** Run in the page, makes the page's own scripts fail when they read an answer. */
export const breakAnswers = `
  globalThis.readText = Response.prototype.text;
  Response.prototype.text = () => { throw new Error("a broken script"); };`;

/** Run in the page, undoes `breakAnswers`. */
export const mendAnswers = "Response.prototype.text = globalThis.readText;";
