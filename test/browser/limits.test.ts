import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { startServer } from "../support/server.ts";
import { breakAnswers, enterKey, mendAnswers, notice, operation, sendButton, sent, useKey } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { visit } from "./visit.ts";

const stage = createStage({ start: startServer, reader: { viewport: { width: 1440, height: 900 } } });
const mintProKey = async () => (await stage.server.store.mintKey("--plan", "pro")).key;
const keyNote = (page: Page) => page.locator("#key-note").textContent();
const plan = (page: Page) => page.locator(".plan").textContent();

describeInBrowser("a key in the reference", { timeout: 60_000 }, () => {
  it("is shown with its plan and remaining requests, and is free to enter", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, await mintProKey());
    expect(await plan(page)).toMatch(/^Pro300 of 300 left this minute · 10,000 of 10,000 left todayForget key$/);
    expect(await sent(page, "listInventory")).toBe(200);
    expect(await plan(page)).toMatch(/^Pro299 of 300 left this minute · 9,999 of 10,000 left today/);
    expect(await sent(page, "getLimits")).toBe(200);
    expect(await plan(page)).toContain("299 of 300");
  });

  it.each([
    ["", "Enter your API key first."],
    ["psk_wrong", "This is not a whole API key: it is cut off or mistyped."],
    [`psk_${"0".repeat(36)}`, "This is not a whole API key: it is cut off or mistyped."],
  ])("is refused in one line, and not sent: %j", async (text, line) => {
    const { page } = await visit(stage.reader, stage.docs);
    const sentTo: string[] = [];
    page.on("request", (request) => sentTo.push(request.url()));
    await enterKey(page, text);
    await expect.poll(() => keyNote(page)).toBe(line);
    expect(sentTo.filter((url) => url.includes("/v1/"))).toEqual([]);
  });

  it("is reported as unknown, revoked or expired", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const revoked = await stage.server.store.mintKey();
    await stage.server.store.run("keys", "revoke", revoked.id);
    await enterKey(page, revoked.key);
    await expect.poll(() => keyNote(page)).toBe("This key has been revoked. Ask for a new one.");
    const strange = await startServer();
    const { key: unknown } = await strange.store.mintKey();
    await strange.stop();
    await enterKey(page, unknown);
    await expect.poll(() => keyNote(page)).toBe("The service does not know this key.");
    expect(await page.locator("form.key").isVisible()).toBe(true);
  });

  it("can be entered again after a script of the page has failed", async () => {
    const { page, complaints } = await visit(stage.reader, stage.docs);
    const pro = await mintProKey();
    await page.evaluate(breakAnswers);
    await enterKey(page, pro);
    await expect.poll(() => complaints).toEqual(["a broken script"]);
    await expect.poll(() => keyNote(page)).toBe("");
    await page.evaluate(mendAnswers);
    await useKey(page, pro);
    expect(await plan(page)).toMatch(/^Pro/);
  });

  it("is reported as revoked by the next call", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const { id, key: short } = await stage.server.store.mintKey();
    await useKey(page, short);
    await stage.server.store.run("keys", "revoke", id);
    await expect.poll(() => sent(page, "listInventory"), { timeout: 5_000 }).toBe(401);
    expect(await notice(page, "listInventory")).toMatch(/API_KEY_REVOKED.*This key has been revoked\. Forget it/s);
  });

  it("is asked for when an operation needs one", async () => {
    const fresh = await stage.createReader();
    const { page } = await visit(fresh, stage.docs);
    await sendButton(page, "listInventory").click();
    expect(await keyNote(page)).toBe("Enter your API key first.");
    expect(await page.getByLabel("Your API key").evaluate((input) => input.matches(":focus"))).toBe(true);
    await useKey(page, await mintProKey());
    await expect
      .poll(() => sendButton(page, "listInventory").evaluate((button) => button.matches(":focus")))
      .toBe(true);
    await fresh.close();
  });

  it.each([
    [1440, "forget"],
    [390, "key-toggle"],
  ])("is announced when it is accepted, and leaves the focus in the header, at %d pixels", async (width, focused) => {
    const fresh = await stage.createReader({ viewport: { width, height: 900 } });
    const { page } = await visit(fresh, stage.docs);
    await useKey(page, await mintProKey());
    expect(await page.getByText("The key is in use: plan Pro.").getAttribute("role")).toBe("status");
    await expect.poll(() => page.evaluate("document.activeElement.className")).toBe(focused);
    await fresh.close();
  });

  it("stays in its tab through a reload, until it is forgotten", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const key = await mintProKey();
    await useKey(page, key);
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain(key);
    await page.reload();
    await page.locator(".plan").waitFor();
    expect(await sent(page, "listInventory")).toBe(200);
    const { page: other } = await visit(stage.reader, stage.docs);
    expect(await other.locator("form.key").isVisible()).toBe(true);
    await page.getByRole("button", { name: "Forget key" }).click();
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain(key);
    expect(await page.locator("form.key").isVisible()).toBe(true);
  });

  it("takes the focus when one that was entered by a click is refused", async () => {
    const fresh = await stage.createReader();
    const { page } = await visit(fresh, stage.docs);
    const field = page.locator("form.key input");
    await field.fill("psk_wrong");
    // Safari gives no focus to a button that is clicked.
    await field.blur();
    await page.evaluate(`document.querySelector("form.key").requestSubmit()`);
    await expect.poll(() => keyNote(page)).not.toBe("");
    await expect.poll(() => field.evaluate((input) => input.matches(":focus"))).toBe(true);
    await fresh.close();
  });

  it("leaves the focus where the reader types when a remembered one is refused", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, await mintProKey());
    const { promise: typing, resolve: answer } = Promise.withResolvers<void>();
    await page.route("**/v1/limits", async (route) => {
      await typing;
      await route.fulfill({ status: 401, json: { code: "API_KEY_REVOKED", message: "Revoked.", status: 401 } });
    });
    await page.reload();
    const field = operation(page, "listInventory").getByLabel("pageToken");
    await field.focus();
    answer();
    await expect.poll(() => keyNote(page)).toBe("This key has been revoked. Ask for a new one.");
    expect(await field.evaluate((input) => input.matches(":focus"))).toBe(true);
  });
});

describeInBrowser("a limit in the reference", { timeout: 60_000 }, () => {
  it("is shown when exceeded, and blocks calls until the wait is over", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, (await stage.server.store.mintQuota(1, 100)).key);
    expect(await sent(page, "listInventory")).toBe(200);
    expect(await sent(page, "listInventory")).toBe(429);
    const text = await notice(page, "listInventory");
    expect(text).toMatch(/The one request of this minute is used up\. Wait [3-6]\d seconds/);
    expect(text).toMatch(/Limit1Remaining0Retry-After[3-6]\d sBannedno/);
    expect(text).toMatch(/Time left: \d\d seconds/);
    const calls: string[] = [];
    page.on("request", (request) => calls.push(request.url()));
    for (const operationId of ["listInventory", "updateInventory"]) {
      const button = sendButton(page, operationId);
      await expect.poll(() => button.textContent()).toMatch(/^Wait \d\d s$/);
      await button.dispatchEvent("click");
    }
    await operation(page, "updateInventory").getByLabel("petId").press("Enter");
    expect(calls).toEqual([]);
    expect(await notice(page, "listInventory")).toMatch(/Time left/);
    // Operations that are free of charge work meanwhile.
    expect(await sent(page, "getLimits")).toBe(200);
    await useKey(page, await mintProKey());
    await expect.poll(() => sendButton(page, "listInventory").textContent()).toBe("Send");
  });

  it("allows calls again when the wait is over", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, await mintProKey());
    const refusal = { code: "RATE_LIMIT_EXCEEDED", message: "Wait.", status: 429 };
    await page.route(
      "**/v1/inventory",
      (route) => route.fulfill({ status: 429, headers: { "retry-after": "1" }, json: refusal }),
      { times: 1 },
    );
    expect(await sent(page, "listInventory")).toBe(429);
    await expect.poll(() => sendButton(page, "listInventory").textContent()).toBe("Wait 1 s");
    await expect.poll(() => sendButton(page, "listInventory").textContent(), { timeout: 5_000 }).toBe("Send");
    await expect.poll(() => notice(page, "listInventory"), { timeout: 5_000 }).toContain("The wait is over");
    expect(await sent(page, "listInventory")).toBe(200);
  });

  it("shows the ban of a key, also when the key is entered", async () => {
    const small = (await stage.server.store.mintQuota(1, 100)).key;
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, small);
    const headers = { authorization: `Bearer ${small}` };
    for (let i = 0; i < 21; i++) {
      await fetch(`${stage.server.origin}/v1/inventory`, { headers });
    }
    expect(await sent(page, "listInventory")).toBe(429);
    expect(await notice(page, "listInventory")).toMatch(
      /This key is banned.*Send nothing for (2 minutes|1[01]\d seconds|9\d seconds)/s,
    );
    await page.reload();
    await expect.poll(() => plan(page)).toMatch(/wait (2 minutes|1[01]\d seconds|9\d seconds)/);
    expect(await sendButton(page, "listInventory").textContent()).toMatch(/^Wait /);
  });
});
