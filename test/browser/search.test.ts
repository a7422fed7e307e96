import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { expectInSight } from "./link-target.ts";
import { operation } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { visit } from "./visit.ts";

const stage = createStage();

const results = (page: Page) => page.getByRole("option").locator("span").allTextContents();

describeInBrowser("the search in the reference", { timeout: 60_000 }, () => {
  it("finds operations, guides and error codes by keyboard", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.keyboard.press("/");
    await page.keyboard.type("banned");
    expect((await results(page))[0]).toBe("API_KEY_BANNED");
    await page.keyboard.press("Enter");
    await expectInSight(page, "API_KEY_BANNED");
    await page.keyboard.press("/");
    await page.keyboard.type("inventory");
    const found = await results(page);
    expect(found.slice(0, 3)).toEqual(["Inventory", "List inventory", "Update inventory"]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expectInSight(page, "update-inventory");
    await page.goBack();
    await expectInSight(page, "API_KEY_BANNED");
  });

  it("goes to its result again after the reader has scrolled away", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    for (let i = 0; i < 2; i++) {
      await page.evaluate("scrollTo(0, 0)");
      await page.keyboard.press("/");
      await page.keyboard.type("banned");
      await page.keyboard.press("Enter");
      await expectInSight(page, "API_KEY_BANNED");
    }
  });

  it.each(["Control+k", "Meta+k"])("opens with %s, also while the reader types", async (keys) => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await operation(page, "listInventory").getByLabel("pageToken").press(keys);
    expect(await page.locator("dialog").isVisible()).toBe(true);
    expect(await page.getByRole("button", { name: "Search" }).getAttribute("title")).toContain("Ctrl+K");
  });

  it.each([
    ["If-None-Match", "List inventory"],
    ["quantity", "Update inventory"],
    ["etag", "Unchanged answers"],
    ["pagination", "Pages"],
  ])("finds what is described by %s, after what is called so", async (text, title) => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    expect(await results(page)).toContain(title);
  });

  it("finds places by other words for them, before those that only hold the letters", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.keyboard.press("/");
    for (const [text, titles] of [
      ["oversell", ["Adjust inventory", "Holds"]],
      ["Overselling", ["Adjust inventory", "Holds"]],
      ["sse", ["Watch stock changes"]],
      ["idempotent", ["Sending a write again"]],
      ["duplicate", ["Sending a write again"]],
      ["CORS", ["Keep it secret"]],
    ] as const) {
      await page.locator("dialog input").fill(text);
      expect([text, (await results(page)).slice(0, titles.length)]).toEqual([text, titles]);
    }
  });

  it("says that nothing is found, and closes with Escape", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.getByRole("button", { name: "Search" }).click();
    await page.keyboard.type("<b>elephant");
    expect(await page.locator("dialog").textContent()).toBe("Nothing is found for “<b>elephant”.");
    await page.keyboard.press("Escape");
    expect(await page.locator("dialog").isVisible()).toBe(false);
  });

  it.each([
    ["Enter while it composes", { key: "Enter", isComposing: true }],
    ["the Enter that ends it in Safari", { key: "Enter", keyCode: 229 }],
    ["the arrows in its candidates", { key: "ArrowDown", isComposing: true }],
  ])("leaves to an input method %s", async (_title, key) => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.keyboard.press("/");
    await page.keyboard.type("banned");
    const chosen = () => page.evaluate(`document.activeElement.getAttribute("aria-activedescendant")`);
    const former = await chosen();
    const event = JSON.stringify({ ...key, bubbles: true, cancelable: true });
    const isLeft = await page.evaluate(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", ${event}))`);
    expect(isLeft).toBe(true);
    expect(await page.locator("dialog").isVisible()).toBe(true);
    expect(await chosen()).toBe(former);
  });

  it("takes the keydown without a key that Chrome sends when it fills a field in", async () => {
    const { page, complaints } = await visit(await stage.createReader(), stage.docs);
    await page.evaluate(`document.querySelector("input").dispatchEvent(new Event("keydown", { bubbles: true }))`);
    expect(complaints).toEqual([]);
  });

  it("ignores a slash while the reader types", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await operation(page, "listInventory").getByLabel("pageToken").press("/");
    expect(await page.locator("dialog").isVisible()).toBe(false);
    expect(await operation(page, "listInventory").getByLabel("pageToken").inputValue()).toBe("/");
  });
});
