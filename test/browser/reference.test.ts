import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { beyondDouble } from "../support/fixture.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { browserMissing, launchBrowser } from "./browser.ts";
import { executed, openOperation, operation, useKey } from "./reference-page.ts";
import { createReader, visit } from "./visit.ts";

let server: TestServer;
let browser: Browser;
let reader: BrowserContext;
let docs: string;
let key: string;

beforeAll(async () => {
  if (browserMissing === undefined) {
    [server, browser] = await Promise.all([startServer(), launchBrowser()]);
    reader = await createReader(browser);
    docs = `${server.origin}/docs`;
    key = (await server.store.mintKey()).key;
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

if (browserMissing !== undefined) {
  console.warn(`the tests of the reference in a browser are skipped: ${browserMissing}`);
}

/** What an operation shows as the body of its answer. */
async function shownBody(page: Page, operationId: string): Promise<string> {
  return (await operation(page, operationId).locator("pre.body").textContent()) ?? "";
}

/** The stock entries, by the API itself. */
async function inventoryText(): Promise<string> {
  const response = await fetch(`${server.origin}/v1/inventory`, { headers: { authorization: `Bearer ${key}` } });
  return response.text();
}

// A page of this size takes its time where several tests share a core.
describe.skipIf(browserMissing !== undefined)("the reference in a browser", { timeout: 60_000 }, () => {
  it("loads without a complaint, and without a request to another host", async () => {
    const { page, complaints, origins } = await visit(reader, docs);
    await openOperation(page, "listInventory");
    await openOperation(page, "getPet");
    expect(complaints).toEqual([]);
    expect([...origins]).toEqual([server.origin]);
  });

  it("lists the inventory with the reader's key, with all digits of its integers", async () => {
    const { page, complaints } = await visit(reader, docs);
    await useKey(page, key);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    expect(await shownBody(page, "listInventory")).toContain(`"quantity": ${beyondDouble}`);
    expect(JSON.stringify(JSON.parse(await shownBody(page, "listInventory")))).toBe(
      JSON.stringify(JSON.parse(await inventoryText())),
    );
    expect(complaints).toEqual([]);
  });

  it("updates the stock of a pet whose id and quantity no double can hold", async () => {
    const { page } = await visit(reader, docs);
    await useKey(page, key);
    await openOperation(page, "updateInventory");
    const panel = operation(page, "updateInventory");
    await panel.getByRole("button", { name: "Try it out" }).click();
    await panel.getByPlaceholder("petId").fill(String(beyondDouble));
    await panel.locator("textarea").fill(`{"quantity": ${beyondDouble + 2n}}`);
    expect(await executed(page, "updateInventory")).toBe(200);
    expect(await shownBody(page, "updateInventory")).toContain(`"quantity": ${beyondDouble + 2n}`);
    expect(await panel.locator(".sent pre").textContent()).toBe(
      `curl '${server.origin}/v1/inventory/${beyondDouble}' \\\n  -X PATCH \\\n  -H 'accept: */*' \\\n` +
        `  -H "Authorization: Bearer $PETSTORE_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n` +
        `  -d '{"quantity": ${beyondDouble + 2n}}'`,
    );
    expect(await inventoryText()).toContain(`{"petId":${beyondDouble},"quantity":${beyondDouble + 2n},`);
  });

  it("tells who has no key to enter one", async () => {
    const { page } = await visit(reader, docs);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(401);
    expect(await page.locator(".notice").textContent()).toContain("API_KEY_MISSING");
    expect(await page.locator(".notice").textContent()).toContain("Enter your API key");
  });

  it("shows a 429 for what it is: the limit, the wait, and that the key is not banned", async () => {
    const { page } = await visit(reader, docs);
    await useKey(page, (await server.store.mintQuota(1, 100)).key);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    expect(await executed(page, "listInventory")).toBe(429);
    const notice = await page.locator(".notice").textContent();
    expect(notice).toMatch(/The one request of this minute is used up\. Wait [3-6]\d seconds/);
    expect(notice).toMatch(/Limit1Remaining0Retry-After[3-6]\d sBannedno/);
    expect(notice).toMatch(/Time left: \d\d s/);
  });

  it("shows a ban for what it is", async () => {
    const { page } = await visit(reader, docs);
    const small = (await server.store.mintQuota(1, 100)).key;
    const headers = { authorization: `Bearer ${small}` };
    for (let i = 0; i < 21; i++) {
      await fetch(`${server.origin}/v1/inventory`, { headers });
    }
    await useKey(page, small);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(429);
    expect(await page.locator(".notice").textContent()).toMatch(
      /This key is banned.*Send nothing for (1[0-2]|9)\d seconds/s,
    );
  });

  it("keeps the key in the tab alone, and forgets it when told so", async () => {
    const { page } = await visit(reader, docs);
    await useKey(page, key);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(key);
    await page.reload();
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    await page.getByRole("button", { name: "Forget it" }).click();
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain(key);
    expect(await executed(page, "listInventory")).toBe(401);
  });

  it("does not offer to try the orders", async () => {
    const { page } = await visit(reader, docs);
    await openOperation(page, "listOrders");
    expect(await operation(page, "listOrders").getByRole("button", { name: "Try it out" }).count()).toBe(0);
    expect(await operation(page, "listOrders").getByRole("button", { name: "Execute" }).count()).toBe(0);
    await openOperation(page, "getPet");
    expect(await operation(page, "getPet").getByRole("button", { name: "Try it out" }).count()).toBe(1);
  });

  it("marks what is not stable, and by when what is deprecated may end", async () => {
    const { page } = await visit(reader, docs);
    const badges = (operationId: string) => operation(page, operationId).locator(".badge").allTextContents();
    expect(await badges("listInventory")).toEqual(["stable"]);
    expect(await badges("updateInventory")).toEqual(["experimental"]);
    expect(await badges("getPet")).toEqual(["deprecated · sunset 2027-06-01"]);
    expect(await badges("listOrders")).toEqual(["stable"]);
  });

  it("opens the operation that a link names, at once and later", async () => {
    const { page } = await visit(reader, `${docs}#/PetService/getPet`);
    await operation(page, "getPet").locator("code-tabs").waitFor();
    expect(await operation(page, "listOrders").locator("code-tabs").count()).toBe(0);
    await page.getByRole("navigation").getByText("/store/orders").click();
    await operation(page, "listOrders").locator("code-tabs").waitFor();
    expect(new URL(page.url()).hash).toBe("#/StoreService/listOrders");
  });

  it("leaves the anchors of the chapters as they are", async () => {
    const { page } = await visit(reader, `${docs}#API_KEY_BANNED`);
    expect(new URL(page.url()).hash).toBe("#API_KEY_BANNED");
    expect(await page.locator("#API_KEY_BANNED").isVisible()).toBe(true);
  });

  it("shows code in the language that was chosen, everywhere, by mouse and by keyboard", async () => {
    const { page } = await visit(reader, docs);
    await openOperation(page, "updateInventory");
    const samples = operation(page, "updateInventory").locator("code-tabs");
    await samples.getByRole("tab", { name: "Python" }).click();
    expect(await samples.getByRole("tabpanel").textContent()).toContain("urllib.request");
    await page.keyboard.press("ArrowRight");
    expect(await samples.getByRole("tabpanel").textContent()).toContain("http.NewRequest");
    expect(await page.locator("#overview code-tabs").first().getByRole("tabpanel").textContent()).toContain(
      "package main",
    );
  });

  it("has its own address in the samples", async () => {
    const { page } = await visit(reader, docs);
    await openOperation(page, "listInventory");
    const samples = operation(page, "listInventory").locator("code-tabs");
    await samples.getByRole("tab", { name: "curl", exact: true }).click();
    expect(await samples.getByRole("tabpanel").textContent()).toContain(`curl ${server.origin}/v1/inventory`);
    await samples.getByRole("tab", { name: "grpcurl" }).click();
    expect(await samples.getByRole("tabpanel").textContent()).toContain(`127.0.0.1:${server.port} petstore.v1`);
  });
});
