import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, it } from "vitest";
import { beyondDouble } from "../support/fixture.ts";
import { startServer } from "../support/server.ts";
import { breakAnswers, mendAnswers, notice, operation, sendButton, sent, shownBody, useKey } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { openReference, type Visit, visit } from "./visit.ts";

const stage = createStage({ start: startServer });
let key: string;

/** The stock entries, from the API. */
async function inventoryText(): Promise<string> {
  const response = await fetch(`${stage.server.origin}/v1/inventory`, { headers: { authorization: `Bearer ${key}` } });
  return response.text();
}

// A page of this size is slow when tests share a core, so these tests share one page.
describeInBrowser("the reference in a browser", { timeout: 60_000 }, () => {
  let visited: Visit;
  let page: Page;

  beforeAll(async () => {
    visited = await openReference(stage.reader, stage.docs);
    page = visited.page;
    key = (await stage.server.store.mintKey()).key;
  });

  afterEach(() => page?.evaluate("for (const form of document.forms) form.reset()"));

  it("marks unstable operations, and the sunset of deprecated ones", async () => {
    const badges = (operationId: string) => operation(page, operationId).locator("h3 .badge").allTextContents();
    expect(await badges("listInventory")).toEqual(["stable"]);
    expect(await badges("updateInventory")).toEqual(["experimental"]);
    expect(await badges("getLimits")).toEqual(["beta"]);
    expect(await badges("getPet")).toEqual(["deprecated · sunset 2027-06-01"]);
    expect(await badges("listOrders")).toEqual(["stable"]);
  });

  it("says that the orders cannot be sent from the page", async () => {
    const orders = operation(page, "listOrders");
    expect(await orders.locator("input, textarea, button[type=submit]").count()).toBe(0);
    expect(await orders.locator(".untriable").textContent()).toBe("This operation cannot be sent from this page.");
    expect(await sendButton(page, "updateInventory").count()).toBe(1);
  });

  it("lists the inventory with the reader's key, with all digits of its integers", async () => {
    await useKey(page, key);
    expect(await sent(page, "listInventory")).toBe(200);
    expect(await shownBody(page, "listInventory")).toContain(`"quantity": ${beyondDouble}`);
    expect((await shownBody(page, "listInventory")).replaceAll(/\s/g, "")).toBe(await inventoryText());
  });

  it("shows the duration, size and headers of an answer", async () => {
    const answer = operation(page, "listInventory").locator(".answer");
    const bytes = Buffer.byteLength(await inventoryText());
    expect(await answer.locator(".facts").textContent()).toMatch(
      new RegExp(`^\\d+ ms · ${bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`}$`),
    );
    await answer.locator("summary").click();
    expect(await answer.locator("dl").textContent()).toMatch(/x-ratelimit-remaining\d+x-/);
  });

  it("updates the stock of a pet whose id and quantity no double can hold", async () => {
    const panel = operation(page, "updateInventory");
    await panel.getByLabel("petId").fill(String(beyondDouble));
    await panel.locator("textarea").fill(`{"quantity": ${beyondDouble + 2n}}`);
    expect(await sent(page, "updateInventory")).toBe(200);
    expect(await shownBody(page, "updateInventory")).toContain(`"quantity": ${beyondDouble + 2n}`);
    expect(await inventoryText()).toContain(`{"petId":${beyondDouble},"quantity":${beyondDouble + 2n},`);
  });

  it("sends the input as query and headers", async () => {
    const panel = operation(page, "listInventory");
    await panel.getByLabel("sold").check();
    await panel.getByLabel("pending").check();
    await panel.getByLabel("If-None-Match").fill('"other"');
    const asked = page.waitForRequest("**/v1/inventory?*");
    expect(await sent(page, "listInventory")).toBe(200);
    const request = await asked;
    expect(new URL(request.url()).search).toBe("?status=pending&status=sold");
    expect(request.headers()["if-none-match"]).toBe('"other"');
    expect(await shownBody(page, "listInventory")).not.toContain('"available"');
  });

  it("loads and answers without an error, and without a request to another host", () => {
    expect(visited.complaints).toEqual([]);
    expect([...visited.origins]).toEqual([stage.server.origin]);
  });

  it.each<[title: string, operationId: string, field: string, value: string, message: RegExp]>([
    ["a parameter of the query", "listInventory", "pageSize", "0", /greater than or equal to 1/],
    ["a parameter of the path", "updateInventory", "petId", "seven", /64-bit integer/],
    ["a token", "listInventory", "pageToken", "made-up", /page token/],
    [
      "a field of the body",
      "updateInventory",
      "JSON to send",
      '{"quantity": 3.5}',
      /^quantity: must be a 64-bit integer/,
    ],
    ["a body that is no JSON", "updateInventory", "JSON to send", "{", /must be valid JSON/],
  ])(
    "shows the error of %s beside it, and moves the focus there",
    async (_title, operationId, field, value, message) => {
      const panel = operation(page, operationId);
      const control = panel.getByLabel(field);
      await control.fill(value);
      expect(await sent(page, operationId)).toBe(400);
      const fault = panel.locator(".fault");
      expect(await fault.textContent()).toMatch(message);
      expect(await control.getAttribute("aria-describedby")).toBe(await fault.getAttribute("id"));
      expect(await control.evaluate((element) => element.matches(":focus"))).toBe(true);
      expect(await control.getAttribute("aria-invalid")).toBe("true");
      expect(await panel.locator(".notice").count()).toBe(0);
      await control.fill("7");
      expect(await fault.count()).toBe(0);
    },
  );

  it("leaves the reader who types elsewhere alone when an answer comes", async () => {
    const { promise: typing, resolve: answer } = Promise.withResolvers<void>();
    await page.route(
      "**/v1/inventory/seven",
      async (route) => {
        await typing;
        await route.continue();
      },
      { times: 1 },
    );
    const panel = operation(page, "updateInventory");
    await panel.getByLabel("petId").fill("seven");
    await sendButton(page, "updateInventory").click();
    const field = operation(page, "listInventory").getByLabel("pageToken");
    await field.focus();
    const scrolled = await page.evaluate("scrollY");
    answer();
    await panel.locator(".fault").waitFor();
    expect(await field.evaluate((input) => input.matches(":focus"))).toBe(true);
    expect(await page.evaluate("scrollY")).toBe(scrolled);
  });

  it("leads a reader who has clicked on text meanwhile to the field at fault", async () => {
    const { promise: clicking, resolve: answer } = Promise.withResolvers<void>();
    await page.route(
      "**/v1/inventory/seven",
      async (route) => {
        await clicking;
        await route.continue();
      },
      { times: 1 },
    );
    const panel = operation(page, "updateInventory");
    await panel.getByLabel("petId").fill("seven");
    await sendButton(page, "updateInventory").click();
    await panel.locator("p").first().click();
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
    answer();
    await panel.locator(".fault").waitFor();
    expect(await panel.getByLabel("petId").evaluate((input) => input.matches(":focus"))).toBe(true);
  });

  it.each(["Control+Enter", "Meta+Enter"])("sends the body that the reader edits with %s", async (keys) => {
    const answer = page.waitForResponse("**/v1/inventory/*");
    await operation(page, "updateInventory").locator("textarea").press(keys);
    expect((await answer).status()).toBe(200);
  });

  it("removes the former answer when it refuses to send, and when it sends again", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, key);
    const panel = operation(page, "updateInventory");
    expect(await sent(page, "updateInventory")).toBe(200);
    for (const [petId, fault] of [
      ["", "petId is needed: it is part of the path."],
      ["..", "petId must not be . or ..: the browser would send another path."],
    ] as const) {
      await panel.getByLabel("petId").fill(petId);
      await sendButton(page, "updateInventory").click();
      expect(await panel.locator(".fault").textContent()).toBe(fault);
      expect(await panel.locator(".answer").isVisible()).toBe(false);
    }
    await panel.getByLabel("petId").fill("7");
    expect(await sent(page, "updateInventory")).toBe(200);
    await page.route("**/v1/inventory/7", () => undefined, { times: 1 });
    await sendButton(page, "updateInventory").click();
    await expect.poll(() => panel.locator(".answer").isVisible()).toBe(false);
    expect(await sendButton(page, "updateInventory").textContent()).toBe("Sending …");
  });

  it("says where an unanswered request went, and what to check", async () => {
    await page.route("**/v1/inventory", (route) => route.abort(), { times: 1 });
    await sendButton(page, "listInventory").click();
    await operation(page, "listInventory").locator(".notice").waitFor();
    expect(await notice(page, "listInventory")).toBe(
      `The server at ${stage.server.origin} did not answer. Check that it is running, and that you are online.`,
    );
  });

  it("says so when a header cannot be sent", async () => {
    await operation(page, "updateInventory").getByLabel("If-Match").fill("\u201c17\u201d");
    await sendButton(page, "updateInventory").click();
    await expect.poll(() => notice(page, "updateInventory")).toContain("Nothing was sent: a header has a character");
  });

  it("can send again after a script of the page has failed", async () => {
    const { page, complaints } = await visit(stage.reader, stage.docs);
    await useKey(page, key);
    await page.evaluate(breakAnswers);
    await sendButton(page, "listInventory").click();
    await expect.poll(() => complaints).toEqual(["a broken script"]);
    await expect.poll(() => sendButton(page, "listInventory").textContent()).not.toBe("Sending …");
    await page.evaluate(mendAnswers);
    expect(await sent(page, "listInventory")).toBe(200);
  });

  it("shows the start of a long answer, and saves all of it", async () => {
    const items = Array.from(
      { length: 50_000 },
      (_, i) => `{"petId":${beyondDouble + BigInt(i)},"quantity":1,"status":"sold"}`,
    );
    const body = `[${items.join(",")}]`;
    await page.route("**/v1/inventory", (route) => route.fulfill({ contentType: "application/json", body }), {
      times: 1,
    });
    expect(await sent(page, "listInventory")).toBe(200);
    expect((await shownBody(page, "listInventory")).split("\n")).toHaveLength(1_000);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the whole answer (2.8 MB)" }).click();
    expect(readFileSync(await (await saving).path(), "utf8")).toBe(body);
  });

  it("shows the answer of each error among its examples", async () => {
    const panel = operation(page, "getPet");
    await panel.getByLabel("Response").selectOption({ label: "404 PET_NOT_FOUND" });
    expect(JSON.parse((await panel.locator(".example code").textContent()) ?? "")).toMatchObject({
      code: "PET_NOT_FOUND",
      status: 404,
    });
  });
});
