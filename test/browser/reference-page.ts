import type { Locator, Page } from "playwright-core";

/** The panel of an operation on the page. */
export function operation(page: Page, operationId: string): Locator {
  return page.locator(`.opblock[id$="-${operationId}"]`);
}

/** Opens an operation, as readers do, if it is not open, and waits for what is in it. */
export async function openOperation(page: Page, operationId: string): Promise<void> {
  const panel = operation(page, operationId);
  if ((await panel.locator("code-tabs").count()) === 0) {
    await panel.locator(".opblock-summary-control").click();
  }
  await panel.locator("code-tabs").waitFor();
  await panel.evaluate((element) => element.scrollIntoView());
}

/** Enters an API key. */
export async function useKey(page: Page, key: string): Promise<void> {
  await page.getByLabel("Your API key").fill(key);
  await page.getByRole("button", { name: "Use this key" }).click();
}

/** Tries an open operation out, as it is filled in, and tells the status of the answer. */
export async function executed(page: Page, operationId: string): Promise<number> {
  const panel = operation(page, operationId);
  const start = panel.getByRole("button", { name: "Try it out" });
  if (await start.isVisible()) {
    await start.click();
  }
  const clear = panel.getByRole("button", { name: "Clear" });
  if (await clear.isVisible()) {
    await clear.click();
  }
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname.startsWith("/v1/"));
  await panel.getByRole("button", { name: "Execute" }).click();
  const status = (await answered).status();
  await panel.locator(".live-responses-table .response-col_status", { hasText: String(status) }).waitFor();
  return status;
}
