import { readFileSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { beyondDouble } from "../support/fixture.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { browserMissing, launchBrowser } from "./browser.ts";
import { executed, openOperation, operation, useKey } from "./reference-page.ts";
import { createReader, openReference, type Visit, visit } from "./visit.ts";

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

/** What the page says about the failed answer of an operation. */
function notice(page: Page): Promise<string | null> {
  return page.locator(".notice").textContent();
}

// A page of this size takes its time where several tests share a core: all of these look at one, in turn.
describe.skipIf(browserMissing !== undefined)("the reference in a browser", { timeout: 60_000 }, () => {
  let visited: Visit;
  let page: Page;

  beforeAll(async () => {
    visited = await openReference(reader, docs);
    page = visited.page;
  });

  it("marks what is not stable, and by when what is deprecated may end", async () => {
    const badges = (operationId: string) => operation(page, operationId).locator(".badge").allTextContents();
    expect(await badges("listInventory")).toEqual(["stable"]);
    expect(await badges("updateInventory")).toEqual(["experimental"]);
    expect(await badges("getPet")).toEqual(["deprecated · sunset 2027-06-01"]);
    expect(await badges("listOrders")).toEqual(["stable"]);
  });

  it("does not offer to try the orders", async () => {
    await openOperation(page, "listOrders");
    expect(await operation(page, "listOrders").getByRole("button", { name: "Try it out" }).count()).toBe(0);
    expect(await operation(page, "listOrders").getByRole("button", { name: "Execute" }).count()).toBe(0);
    await openOperation(page, "getPet");
    expect(await operation(page, "getPet").getByRole("button", { name: "Try it out" }).count()).toBe(1);
  });

  it("shows code in the language that was chosen, everywhere, by mouse and by keyboard", async () => {
    await openOperation(page, "updateInventory");
    const samples = operation(page, "updateInventory").locator("code-tabs");
    const inOverview = page.locator("#overview code-tabs").first().getByRole("tabpanel");
    await samples.getByRole("tab", { name: "Python" }).click();
    expect(await samples.getByRole("tabpanel").textContent()).toContain("urllib.request");
    await page.keyboard.press("ArrowRight");
    expect(await samples.getByRole("tabpanel").textContent()).toContain("http.NewRequest");
    expect(await inOverview.textContent()).toContain("package main");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    expect(await samples.getByRole("tabpanel").textContent()).toContain("grpcurl");
  });

  it("keeps the language though a tab of another kind is chosen", async () => {
    await page.locator("#grpc-and-connect").getByRole("tab", { name: "Describe" }).click();
    expect(await page.locator("#grpc-and-connect").getByRole("tabpanel").first().textContent()).toContain(" describe ");
    const inOverview = page.locator("#overview code-tabs").first().getByRole("tabpanel");
    expect(await inOverview.textContent()).toContain("grpcurl");
  });

  it("has in its samples the address by which the reader has come", async () => {
    const { page } = await visit(reader, docs.replace("127.0.0.1", "localhost"));
    await openOperation(page, "listInventory");
    const samples = operation(page, "listInventory").locator("code-tabs");
    expect(await samples.getByRole("tabpanel").textContent()).toContain(
      `curl http://localhost:${server.port}/v1/inventory`,
    );
    await samples.getByRole("tab", { name: "grpcurl" }).click();
    expect(await samples.getByRole("tabpanel").textContent()).toContain(`localhost:${server.port} petstore.v1`);
    expect(await page.locator("#overview").textContent()).not.toContain("127.0.0.1");
  });

  it("lists the inventory with the reader's key, with all digits of its integers", async () => {
    await useKey(page, key);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    expect(await shownBody(page, "listInventory")).toContain(`"quantity": ${beyondDouble}`);
    expect(JSON.stringify(JSON.parse(await shownBody(page, "listInventory")))).toBe(
      JSON.stringify(JSON.parse(await inventoryText())),
    );
  });

  it("updates the stock of a pet whose id and quantity no double can hold", async () => {
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

  it("loads and answers without a complaint, and without a request to another host", () => {
    expect(visited.complaints).toEqual([]);
    expect([...visited.origins]).toEqual([server.origin]);
  });

  it("shows a 429 for what it is: the limit, the wait, and that the key is not banned", async () => {
    await useKey(page, (await server.store.mintQuota(1, 100)).key);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    expect(await executed(page, "listInventory")).toBe(429);
    expect(await notice(page)).toMatch(/The one request of this minute is used up\. Wait [3-6]\d seconds/);
    expect(await notice(page)).toMatch(/Limit1Remaining0Retry-After[3-6]\d sBannedno/);
    expect(await notice(page)).toMatch(/Time left: \d\d seconds/);
  });

  it("shows a ban for what it is", async () => {
    const small = (await server.store.mintQuota(1, 100)).key;
    const headers = { authorization: `Bearer ${small}` };
    for (let i = 0; i < 21; i++) {
      await fetch(`${server.origin}/v1/inventory`, { headers });
    }
    await useKey(page, small);
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(429);
    expect(await notice(page)).toMatch(/This key is banned.*Send nothing for (2 minutes|1[01]\d seconds|9\d seconds)/s);
  });

  it("shows the beginning of a long answer, and saves all of it", async () => {
    const items = Array.from(
      { length: 50_000 },
      (_, i) => `{"petId":${beyondDouble + BigInt(i)},"quantity":1,"status":"sold"}`,
    );
    const body = `[${items.join(",")}]`;
    const contentType = "application/json";
    await page.route("**/v1/inventory", (route) => route.fulfill({ contentType, body }), { times: 1 });
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    expect((await shownBody(page, "listInventory")).split("\n")).toHaveLength(1_000);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the whole answer (2.8 MB)" }).click();
    expect(readFileSync(await (await saving).path(), "utf8")).toBe(body);
  });

  it("keeps the key in the tab alone, and forgets it when told so", async () => {
    await useKey(page, key);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(key);
    await page.reload();
    await openOperation(page, "listInventory");
    expect(await executed(page, "listInventory")).toBe(200);
    await page.getByRole("button", { name: "Forget it" }).click();
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain(key);
    expect(await executed(page, "listInventory")).toBe(401);
    expect(await notice(page)).toMatch(/API_KEY_MISSING.*Enter your API key/s);
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
});
