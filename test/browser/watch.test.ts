import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from "vitest";
import { until } from "../support/deadline.ts";
import { beyondDouble, importFixture, pets } from "../support/fixture.ts";
import { readMetrics } from "../support/metrics.ts";
import { serve, startServer, TestStore } from "../support/server.ts";
import { sendStreamed } from "../support/streamed.ts";
import { axeFaultsOf } from "./axe.ts";
import { BreakableProxy } from "./breakable-proxy.ts";
import { notice, operation, sendButton, useKey } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { visit } from "./visit.ts";

const stage = createStage({ start: startServer });
const watchId = "watchStockChanges";
let writer: string;

const panel = (page: Page) => operation(page, watchId).locator(".answer");
const status = (page: Page) => panel(page).locator(".bar .status").textContent();
const state = (page: Page) => panel(page).locator(".state").textContent();
const facts = (page: Page) => panel(page).locator(".bar .facts").textContent();
const items = (page: Page) => panel(page).locator(".feed li");
const button = (page: Page) => sendButton(page, watchId);

/** Sets the stock of a pet, as somebody else does. */
async function set(quantity: number | bigint, petId: number | bigint = 7): Promise<void> {
  const { status: answered } = await fetch(`${stage.server.origin}/v1/inventory/${petId}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${writer}`, "content-type": "application/json" },
    body: `{"quantity": ${quantity}, "reason": "test"}`,
  });
  expect(answered).toBe(200);
}

async function headCursor(): Promise<string> {
  const headers = { authorization: `Bearer ${writer}` };
  const answer = await fetch(`${stage.server.origin}/v1/inventory?pageSize=1`, { headers });
  return answer.headers.get("x-inventory-cursor") ?? "";
}

/** Opens the reference with a key, and watches what comes from now on. */
async function watchFromNow(key = writer): Promise<Page> {
  const { page } = await visit(stage.reader, stage.docs);
  await useKey(page, key);
  await operation(page, watchId)
    .getByLabel("after", { exact: true })
    .fill(await headCursor());
  await button(page).click();
  await expect.poll(() => status(page)).toBe("Watching");
  return page;
}

/** How many streams the server has open. */
async function openStreams(): Promise<number> {
  return (await readMetrics(stage.server)).sum("petstore_streams_open");
}

describeInBrowser("the live feed in the reference", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    writer = (await stage.server.store.mintQuota(1_000_000, 1_000_000)).key;
  });

  it("shows each change as it is made, the newest first, with all digits of its integers", async () => {
    const page = await watchFromNow();
    expect(await state(page)).toMatch(/^Watching since .*\.$/);
    expect(await panel(page).locator(".none").textContent()).toMatch(/^No change yet/);
    await set(10);
    await set(beyondDouble, beyondDouble);
    await set(9);
    await expect.poll(() => items(page).count()).toBe(3);
    const [newest = "", second = "", oldest = ""] = await items(page).allTextContents();
    expect(newest).toContain("pet 7: 10 → 9");
    expect(second).toContain(`pet ${beyondDouble}: `);
    expect(second).toContain(`→ ${beyondDouble}`);
    expect(oldest).toMatch(/pet 7: \d+ → 10set.*test/);
    expect(await items(page).first().locator("code.cursor").textContent()).toBe(await headCursor());
    expect(await items(page).first().locator("time").getAttribute("datetime")).toMatch(/^\d{4}-.*Z$/);
    await expect.poll(() => facts(page)).toMatch(/^3 changes/);
  });

  it("follows the form, and is charged once", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, (await stage.server.store.mintKey("--plan", "pro")).key);
    const form = operation(page, watchId);
    await form.getByLabel("petId").fill("6");
    await form.getByLabel("crossing").fill("5");
    await form.getByLabel("Last-Event-ID").fill(await headCursor());
    const asked = page.waitForRequest("**/changes:watch?*");
    await button(page).click();
    const request = await asked;
    expect(new URL(request.url()).search).toBe("?petId=6&crossing=5");
    expect(request.headers()).toMatchObject({ accept: "text/event-stream" });
    await expect.poll(() => status(page)).toBe("Watching");
    for (const [petId, quantity] of [
      [6, 9],
      [7, 9],
      [7, 4],
      [6, 5],
      [6, 4],
    ] as const) {
      await set(quantity, petId);
    }
    await expect.poll(() => items(page).allTextContents()).toEqual([expect.stringContaining("pet 6: 9 → 5")]);
    expect(await page.locator(".plan .left").textContent()).toContain("299 of 300 left");
  });

  it("stops by its button, by the keyboard too, and leaves no stream open", async () => {
    const page = await watchFromNow();
    await until(async () => (await openStreams()) === 1, 5_000);
    await set(3);
    await expect.poll(() => items(page).count()).toBe(1);
    expect(await button(page).textContent()).toBe("Stop");
    await page.keyboard.press("Enter");
    expect(await status(page)).toBe("Ended");
    expect(await state(page)).toMatch(/^Stopped at /);
    expect(await button(page).textContent()).toBe("Watch");
    expect(await button(page).evaluate((element) => element.matches(":focus"))).toBe(true);
    await until(async () => (await openStreams()) === 0, 5_000);
    expect(await items(page).count()).toBe(1);
    await page.keyboard.press("Enter");
    await expect.poll(() => status(page)).toBe("Watching");
    await panel(page).getByRole("button", { name: "Close" }).press("Enter");
    expect(await panel(page).isVisible()).toBe(false);
    expect(await operation(page, watchId).locator(".example").isVisible()).toBe(true);
    expect(await button(page).evaluate((element) => element.matches(":focus"))).toBe(true);
    await until(async () => (await openStreams()) === 0, 5_000);
  });

  it("ends when the reader leaves the page, or forgets the key", async () => {
    const page = await watchFromNow();
    await until(async () => (await openStreams()) === 1, 5_000);
    await page.goto(`${stage.server.origin}/openapi.json`);
    await until(async () => (await openStreams()) === 0, 5_000);
    await page.goBack();
    await page.locator(".plan").waitFor();
    expect(await button(page).textContent()).toBe("Watch");
    expect(await openStreams()).toBe(0);
    const other = await watchFromNow();
    await other.getByRole("button", { name: "Forget key" }).click();
    expect(await state(other)).toBe("It was stopped, as its key is no longer in use here.");
    await until(async () => (await openStreams()) === 0, 5_000);
  });

  it("leaves what is being read in place, and says how much is new", async () => {
    const page = await watchFromNow();
    for (let quantity = 1; quantity <= 30; quantity += 1) {
      await set(quantity);
    }
    await expect.poll(() => items(page).count()).toBe(30);
    const box = panel(page).locator(".changes");
    await box.evaluate((element) => element.scrollTo(0, 400));
    const read = items(page).nth(8);
    const before = await read.boundingBox();
    await set(31);
    await set(32);
    const newer = panel(page).locator(".newer");
    await expect.poll(() => newer.textContent()).toBe("Show 2 new changes");
    expect(await items(page).count()).toBe(30);
    expect((await read.boundingBox())?.y).toBe(before?.y);
    await newer.press("Enter");
    expect(await items(page).count()).toBe(32);
    expect(await items(page).first().textContent()).toContain("31 → 32");
    expect(await box.evaluate((element) => element.matches(":focus") && element.scrollTop === 0)).toBe(true);
    expect(await newer.isVisible()).toBe(false);
    await items(page).first().locator("code").selectText();
    await set(33);
    await expect.poll(() => newer.textContent()).toBe("Show 1 new change");
  });

  it("keeps the last 200 of a long history, and counts them all", async () => {
    const after = await headCursor();
    for (let round = 0; round < 3; round += 1) {
      const changes = Array.from({ length: 1_000 }, (_, index) => `{"petId": 7, "quantity": ${round * 1_000 + index}}`);
      await fetch(`${stage.server.origin}/v1/inventory:batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${writer}`, "content-type": "application/json" },
        body: `{"changes": [${changes.join(",")}]}`,
      });
    }
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, writer);
    await operation(page, watchId).getByLabel("after", { exact: true }).fill(after);
    await button(page).click();
    await expect.poll(() => facts(page)).toMatch(/^3,000 changes/);
    await expect.poll(() => items(page).first().textContent()).toContain("→ 2999");
    expect(await items(page).count()).toBe(200);
    expect(await items(page).last().textContent()).toContain("→ 2800");
  });

  it("tells screen readers of its state at once, and of changes now and then", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, writer);
    await operation(page, watchId)
      .getByLabel("after", { exact: true })
      .fill(await headCursor());
    await page.clock.install();
    await button(page).click();
    await expect.poll(() => status(page)).toBe("Watching");
    await page.evaluate(`{
      globalThis.announced = [];
      for (const region of document.querySelectorAll("#watch-stock-changes .answer [role=status]")) {
        new MutationObserver(() => announced.push(region.textContent)).observe(region, { childList: true });
      }
    }`);
    await set(1);
    await set(2);
    await expect.poll(() => items(page).count()).toBe(2);
    expect(await page.evaluate("announced")).toEqual([]);
    await page.clock.runFor(10_000);
    expect(await page.evaluate("announced")).toEqual(["2 changes so far. The last one: pet 7: 1 → 2."]);
    expect(await panel(page).locator("[aria-live], [role=alert], [role=log]").count()).toBe(0);
  });

  it("is accessible at every width, in light and in dark colours", async () => {
    const page = await watchFromNow();
    for (let quantity = 1; quantity <= 12; quantity += 1) {
      await set(quantity);
    }
    await expect.poll(() => items(page).count()).toBe(12);
    await panel(page)
      .locator(".changes")
      .evaluate((element) => element.scrollTo(0, 300));
    await set(5);
    await panel(page).locator(".newer").waitFor();
    for (const width of [320, 768, 1920, 390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([width, width]);
    }
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      await expect.poll(() => page.evaluate("document.documentElement.dataset.scheme")).toBe(colorScheme);
      // The layouts of a phone and of a desktop.
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect([colorScheme, width, await axeFaultsOf(page, "watch-stock-changes")]).toEqual([colorScheme, width, []]);
      }
    }
  });

  it("shows an error beside the field at fault: of what is no cursor, and of what is no pet", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await useKey(page, writer);
    for (const [label, value, shown] of [
      ["after", "garbage", /cursor/i],
      ["petId", "seven", /64-bit integer/],
    ] as const) {
      const control = operation(page, watchId).getByLabel(label, { exact: true });
      await control.fill(value);
      const answered = page.waitForResponse("**/changes:watch?*");
      await button(page).click();
      expect((await answered).status()).toBe(400);
      await expect.poll(() => control.evaluate((element) => element.matches(":focus"))).toBe(true);
      const fault = operation(page, watchId).locator(".fault");
      expect(await fault.textContent()).toMatch(shown);
      expect(await fault.getAttribute("id")).toBe(await control.getAttribute("aria-describedby"));
      expect(await status(page)).toBe("400 Bad Request");
      expect(await button(page).textContent()).toBe("Watch");
      await control.fill("");
    }
  });

  it("shows why it is refused: too many streams, a key without the scope, an unknown pet", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const { key: busy } = await stage.server.store.mintKey();
    const request = { path: "/v1/inventory/changes:watch", headers: { authorization: `Bearer ${busy}` } };
    const others = Array.from({ length: 32 }, () => sendStreamed("HTTP/1.1", stage.server, request));
    await Promise.all(others.map(({ answer }) => answer));
    await useKey(page, busy);
    await button(page).click();
    await expect.poll(() => status(page)).toBe("429 Too Many Requests");
    expect(await notice(page, watchId)).toMatch(/^TOO_MANY_STREAMS.*32.*More about TOO_MANY_STREAMS$/s);
    for (const other of others) {
      other.close();
    }
    await useKey(page, (await stage.server.store.mintKey("--scope", "pets:read")).key);
    await button(page).click();
    await expect.poll(() => status(page)).toBe("403 Forbidden");
    expect(await notice(page, watchId)).toMatch(/^SCOPE_MISSING/);
    await useKey(page, writer);
    await operation(page, watchId).getByLabel("petId").fill("404404");
    await button(page).click();
    await expect.poll(() => status(page)).toBe("404 Not Found");
    expect(await notice(page, watchId)).toMatch(/^PET_NOT_FOUND/);
  });

  it("says that its key has ended", async () => {
    const { id, key } = await stage.server.store.mintKey();
    const page = await watchFromNow(key);
    await stage.server.store.run("keys", "revoke", id);
    await expect.poll(() => status(page), { timeout: 5_000 }).toBe("Ended");
    expect(await state(page)).toMatch(/^The service ended it at /);
    expect(await notice(page, watchId)).toMatch(/^API_KEY_REVOKED.*This key has been revoked/s);
    expect(await axeFaultsOf(page, "watch-stock-changes")).toEqual([]);
  });
});

describeInBrowser("a connection of the live feed that is lost", { timeout: 60_000 }, () => {
  const proxy = new BreakableProxy();

  afterEach(() => proxy.restore());
  afterAll(() => proxy.close());

  async function watchThroughProxy(): Promise<Page> {
    const origin = await proxy.listen(stage.server.port);
    const { page } = await visit(stage.reader, `${origin}/docs`);
    await useKey(page, writer);
    await operation(page, watchId)
      .getByLabel("after", { exact: true })
      .fill(await headCursor());
    await button(page).click();
    await expect.poll(() => status(page)).toBe("Watching");
    return page;
  }

  it("is opened again after the last event, and says that nothing was missed", async () => {
    const page = await watchThroughProxy();
    await set(50);
    await expect.poll(() => items(page).count()).toBe(1);
    const last = await headCursor();
    proxy.refuse();
    await expect.poll(() => status(page)).toBe("Connection lost");
    expect(await state(page)).toMatch(/^The connection was lost at .*\. It is opened again after the last event\.$/);
    expect(await facts(page)).toMatch(/^1 change · next attempt in /);
    await set(49);
    await set(48);
    const asked = page.waitForRequest("**/changes:watch?*");
    proxy.restore();
    expect((await asked).headers()["last-event-id"]).toBe(last);
    await expect.poll(() => status(page), { timeout: 15_000 }).toBe("Watching");
    expect(await state(page)).toMatch(/^Watching again since .*, after the last event: nothing was missed\.$/);
    await set(47);
    await expect
      .poll(async () => (await items(page).allTextContents()).map((text) => /\d+ → \d+/.exec(text)?.[0]))
      .toEqual(["48 → 47", "49 → 48", "50 → 49", expect.stringMatching(/→ 50$/)]);
  });

  it("is one that is silent for as long as three heartbeats", async () => {
    const origin = await proxy.listen(stage.server.port);
    const { page } = await visit(stage.reader, `${origin}/docs`);
    await page.clock.install();
    await useKey(page, writer);
    await operation(page, watchId)
      .getByLabel("after", { exact: true })
      .fill(await headCursor());
    await button(page).click();
    await expect.poll(() => status(page)).toBe("Watching");
    proxy.hold();
    await page.clock.runFor(44_000);
    expect(await status(page)).toBe("Watching");
    await page.clock.runFor(2_000);
    await expect.poll(() => status(page)).toBe("Connection lost");
    proxy.restore();
    await page.clock.runFor(2_000);
    await expect.poll(() => status(page)).toBe("Watching");
  });

  it("is not opened again when the service refuses it, which is shown", async () => {
    const page = await watchThroughProxy();
    const refusal = { code: "CURSOR_EXPIRED", message: "The changes after this cursor are gone.", status: 410 };
    let asked = 0;
    await page.route("**/changes:watch?*", (route) => {
      asked += 1;
      return route.fulfill({ status: 410, json: refusal });
    });
    proxy.breakAll();
    await expect.poll(() => status(page), { timeout: 10_000 }).toBe("Ended");
    expect(await state(page)).toMatch(/^It could not be opened again at /);
    expect(await notice(page, watchId)).toMatch(/^CURSOR_EXPIRED.*More about CURSOR_EXPIRED$/s);
    expect(await button(page).textContent()).toBe("Watch");
    expect(asked).toBe(1);
  });

  it("is given up while it waits, when the reader stops", async () => {
    const page = await watchThroughProxy();
    proxy.refuse();
    await expect.poll(() => status(page)).toBe("Connection lost");
    await button(page).click();
    expect(await state(page)).toMatch(/^Stopped at /);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.waitForTimeout(2_500);
    expect(requests).toEqual([]);
  });

  it("is opened again when the service has stopped, and runs again", async () => {
    const store = new TestStore();
    await importFixture(store.db);
    const { key } = await store.mintQuota(1_000, 1_000);
    const first = await serve(store);
    onTestFinished(() => first.stop());
    const origin = await proxy.listen(first.port);
    const { page } = await visit(stage.reader, `${origin}/docs`);
    await useKey(page, key);
    await button(page).click();
    const count = async () => (await facts(page))?.split(" · ")[0];
    await expect.poll(count).toBe(`${pets.length} changes`);
    expect(await first.end()).toBe(0);
    await expect.poll(() => status(page)).toBe("Connection lost");
    const second = await serve(store);
    onTestFinished(() => second.stop());
    await proxy.listen(second.port);
    await expect.poll(() => status(page), { timeout: 40_000 }).toBe("Watching");
    expect(await count()).toBe(`${pets.length} changes`);
  });
});
