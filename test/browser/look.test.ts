import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { startServer } from "../support/server.ts";
import { axeFaults } from "./axe.ts";
import { enterKey, operation, sendButton, sent, useKey } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { visit } from "./visit.ts";

const stage = createStage({ start: startServer });

const phone = { viewport: { width: 390, height: 844 } };

const ground = "getComputedStyle(document.body).backgroundColor";
const light = "rgb(255, 255, 255)";

const schemes = ["light", "dark"] as const;
const widths = [390, 768, 1440, 1920];

/** Makes the page show everything: all kinds of answers, collapsed parts, and the error of a field. */
async function showAll(page: Page): Promise<void> {
  await enterKey(page, "psk_wrong");
  await useKey(page, (await stage.server.store.mintQuota(3, 100)).key);
  await sent(page, "updateInventory");
  await sendButton(page, "watchStockChanges").click();
  await operation(page, "watchStockChanges").locator(".feed li").first().waitFor();
  await operation(page, "listInventory").getByLabel("pageSize").fill("0");
  await sent(page, "listInventory");
  await sent(page, "getPet");
  await page.locator("details:not(.headers)").evaluateAll((all) => {
    for (const details of all as unknown as { open: boolean }[]) {
      details.open = true;
    }
  });
}

/** Elements that reach beyond the page's edge, even where the page cannot be scrolled. */
const overhang = `[...document.querySelectorAll("main *")].filter((element) => {
  const { right, width } = element.getBoundingClientRect();
  return width > 0 && right > innerWidth && !element.closest("pre, .scroll, [role=tablist]");
}).map((element) => element.outerHTML.slice(0, 120))`;

/**
 * Elements whose content is cut at their edge. Programs and commands scroll, and so do the tabs of their languages. The
 * class `unseen` is for screen readers.
 */
const cut = `[...document.querySelectorAll("body *")].filter((element) => {
  const { clientWidth, scrollWidth } = element;
  const scrolls = element.matches(".code:not(.json, .http) > pre, [role=tablist], .unseen");
  return clientWidth > 0 && scrollWidth > clientWidth && getComputedStyle(element).overflowX !== "visible" && !scrolls;
}).map((element) => element.outerHTML.slice(0, 120))`;

/** Words of tables and of the search's results that are broken in two. */
const brokenWords = `[...document.querySelectorAll(".scroll td, .scroll th, dialog.search li")].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/[A-Za-z0-9]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      // A wrapped line begins with an empty rectangle at the end of the one before.
      if ([...range.getClientRects()].filter(({ width }) => width > 0).length > 1) {
        broken.push(word);
      }
    }
  }
  return broken;
})`;

describeInBrowser("the look of the reference", { timeout: 120_000 }, () => {
  it.each(schemes)("is accessible, and fits every width, in %s colours", async (colorScheme) => {
    const { page } = await visit(await stage.createReader({ colorScheme }), stage.docs);
    await showAll(page);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await axeFaults(page)]).toEqual([width, []]);
    }
    for (const width of [...widths, 320]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([width, width]);
      expect([width, await page.evaluate(overhang)]).toEqual([width, []]);
    }
  });

  it.each(widths)("cuts nothing, and breaks no word, at %d pixels", async (width) => {
    const { page } = await visit(await stage.createReader({ viewport: { width, height: 900 } }), stage.docs);
    await page.getByRole("button", { name: "Search" }).click();
    expect(await page.evaluate(cut)).toEqual([]);
    expect(await page.evaluate(brokenWords)).toEqual([]);
  });

  it.each(schemes)("is accessible with its dialogs open, in %s colours", async (colorScheme) => {
    const reader = await stage.createReader({ ...phone, colorScheme });
    const { page } = await visit(reader, stage.docs);
    await page.getByRole("button", { name: "Menu" }).click();
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await enterKey(page, "psk_wrong");
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Search" }).click();
    expect(await axeFaults(page)).toEqual([]);
  });

  it("has two columns that use the width of a wide screen", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    for (const [width, isWide] of [
      [1199, false],
      [1200, true],
      [1920, true],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      const [left, right] = await Promise.all(
        [".explained", ".shown"].map((part) => operation(page, "updateInventory").locator(part).boundingBox()),
      );
      expect([width, (right?.y ?? 0) < (left?.y ?? 0) + 50]).toEqual([width, isWide]);
      expect((right?.x ?? 0) + (right?.width ?? 0)).toBeGreaterThan(width * 0.93);
    }
  });

  it("keeps the sample call in view beside its description", async () => {
    const { page } = await visit(await stage.createReader({ viewport: { width: 1440, height: 900 } }), stage.docs);
    await operation(page, "updateInventory").locator("h4", { hasText: "Errors" }).scrollIntoViewIfNeeded();
    const send = await sendButton(page, "updateInventory").boundingBox();
    expect(send?.y).toBeGreaterThan(56);
    expect(send?.y).toBeLessThan(900);
  });

  it("has its navigation behind a button on a phone", async () => {
    const { page } = await visit(await stage.createReader(phone), stage.docs);
    const navigation = page.getByRole("navigation");
    expect(await navigation.isVisible()).toBe(false);
    const menu = page.getByRole("button", { name: "Menu" });
    await menu.click();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Escape");
    expect(await navigation.isVisible()).toBe(false);
    expect(await menu.evaluate((button) => button.matches(":focus"))).toBe(true);
    await menu.click();
    await navigation.getByText("Plans and limits").click();
    await page.waitForURL(/#plans-and-limits$/);
    expect(await navigation.isVisible()).toBe(false);
  });

  it("follows the system's colours until the reader chooses others, which are kept", async () => {
    const { page } = await visit(await stage.createReader({ colorScheme: "dark" }), stage.docs);
    expect(await page.evaluate(ground)).not.toBe(light);
    await page.getByRole("button", { name: "Switch to light colours" }).click();
    expect(await page.evaluate(ground)).toBe(light);
    await page.reload();
    expect(await page.evaluate(ground)).toBe(light);
  });

  it("lets the keyboard skip the navigation, and shows the focus", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#content$/);
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press("Tab");
      const focus = `(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))`;
      expect(await page.evaluate(focus)).not.toEqual(["none", "0px"]);
      const top = (await page.evaluate("document.activeElement.getBoundingClientRect().top")) as number;
      expect(top).toBeGreaterThanOrEqual(56);
    }
  });

  it("can be read without scripts", async () => {
    const { page } = await visit(await stage.createReader({ javaScriptEnabled: false }), `${stage.docs}#get-pet`);
    for (const text of ["import urllib.request", "package main", "grpcurl -plaintext", "buf curl"]) {
      expect(await operation(page, "getPet").locator(".code", { hasText: text }).isVisible()).toBe(true);
    }
    expect(await page.locator("button:visible, input:visible, select:visible").count()).toBe(0);
    expect(await page.getByRole("navigation").isVisible()).toBe(true);
  });

  it("is printed in full, without controls", async () => {
    const { page } = await visit(await stage.createReader(), stage.docs);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("button:visible, input:visible, nav:visible").count()).toBe(0);
    expect(await operation(page, "getPet").locator(".code", { hasText: "curl http" }).first().isVisible()).toBe(true);
  });
});
