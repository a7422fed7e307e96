import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startServer } from "../support/server.ts";
import { axeFaults, colourRules } from "./axe.ts";
import { enterKey, operation, sendButton, sent, useKey } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { openReference, visit } from "./visit.ts";

const stage = createStage({ start: startServer });

const phone = { viewport: { width: 390, height: 844 } };

const touch = { ...phone, hasTouch: true, isMobile: true };

const ground = "getComputedStyle(document.body).backgroundColor";
const light = "rgb(255, 255, 255)";
const ink = "getComputedStyle(document.body).color";

const schemes = ["light", "dark"] as const;
const widths = [320, 390, 768, 1440, 1920];

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

/** Has the system's colours change, and waits until the page's have. */
async function turn(page: Page, colorScheme: (typeof schemes)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await expect.poll(() => page.evaluate("document.documentElement.dataset.scheme")).toBe(colorScheme);
}

/** Leaves only the operations that `showAll` has sent, and one that cannot be sent. */
const dropAlike = `for (const { id } of document.querySelectorAll(".operation")) {
  if (!/^(update-inventory|watch-stock-changes|list-inventory|get-pet|list-orders)$/.test(id)) {
    document.getElementById(id).remove();
  }
}`;

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

/** Panels and answers whose lower end is cut. Where they do not fit, the column around them scrolls. */
const cutBelow = `[...document.querySelectorAll(".panel, .answer")].filter(
  ({ clientHeight, scrollHeight }) => clientHeight > 0 && scrollHeight > clientHeight,
).map((element) => element.outerHTML.slice(0, 120))`;

/** Copy buttons that a reader does not see without looking for them. */
const unseenButtons = `[...document.querySelectorAll("button.copy")].filter(
  (button) => getComputedStyle(button).opacity !== "1",
).length`;

/** Copy buttons that cover the first line of their code. */
const covering = `[...document.querySelectorAll("button.copy")].filter((button) => {
  const range = document.createRange();
  range.selectNodeContents(button.parentElement.querySelector("code"));
  const [line] = range.getClientRects();
  return line !== undefined && button.getBoundingClientRect().bottom > line.top;
}).length`;

/** Controls that iOS zooms in on when they get the focus, as their text is smaller than 16 pixels. */
const zoomed = `[...document.querySelectorAll("select, textarea, input:not([type=checkbox])")].filter(
  (control) => parseFloat(getComputedStyle(control).fontSize) < 16,
).map(({ id }) => id)`;

/** Choices of an example that are below their labels. */
const wrapped = `[...document.querySelectorAll(".example .bar")].filter((bar) => {
  const [label, choice] = [...bar.children].map((part) => part.getBoundingClientRect());
  return choice.top >= label.bottom;
}).length`;

/** Words of some elements that are broken in two. */
const broken = (
  elements: string,
  words: RegExp,
) => `[...document.querySelectorAll("${elements}")].flatMap((element) => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(${words})) {
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

/** Short words of code with hyphens. */
const brokenNames = broken(":is(p, li, td) code", /(?<!\S)(?=\S*-)\S{1,24}(?!\S)/g);

/** Words of tables and of the search's results. */
const brokenWords = broken(".scroll td, .scroll th, dialog.search li", /[A-Za-z0-9]+/g);

describeInBrowser("the look of the reference", { timeout: 120_000 }, () => {
  describe("with everything shown,", () => {
    let page: Page;

    beforeAll(async () => {
      ({ page } = await openReference(stage.reader, stage.docs));
      await showAll(page);
    });

    afterAll(() => page?.close());

    it.each(widths)("fits %d pixels", async (width) => {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      expect(await page.evaluate(overhang)).toEqual([]);
    });

    it("is accessible on a desktop", async () => {
      await page.setViewportSize({ width: 1440, height: 900 });
      expect(await axeFaults(page)).toEqual([]);
    });

    // A look of axe at all operations takes seconds. In other layouts and colours, some stand for those that look alike.
    it.each([390, 768])("is accessible at %d pixels", async (width) => {
      await page.evaluate(dropAlike);
      await page.setViewportSize({ width, height: 900 });
      expect(await axeFaults(page)).toEqual([]);
    });

    // Between them, a phone and a desktop show whatever a tablet does.
    it.each([390, 1440])("has enough contrast in dark colours, too, at %d pixels", async (width) => {
      await page.evaluate(dropAlike);
      await turn(page, "dark");
      onTestFinished(() => turn(page, "light"));
      await page.setViewportSize({ width, height: 900 });
      expect(await axeFaults(page, "html", colourRules)).toEqual([]);
    });
  });

  describe("as it opens,", () => {
    let page: Page;

    beforeAll(async () => {
      ({ page } = await openReference(stage.reader, stage.docs));
    });

    afterAll(() => page?.close());

    it("lets the keyboard skip the navigation, and shows the focus", async () => {
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

    it.each([390, 768, 1440, 1920])("cuts nothing, and breaks no word, at %d pixels", async (width) => {
      await page.setViewportSize({ width, height: 900 });
      await page.getByRole("button", { name: "Search" }).click();
      onTestFinished(() => page.keyboard.press("Escape"));
      expect(await page.evaluate(cut)).toEqual([]);
      expect(await page.evaluate(brokenWords)).toEqual([]);
      expect(await page.evaluate(brokenNames)).toEqual([]);
      expect(await page.evaluate(wrapped)).toBe(0);
      expect([await page.evaluate(unseenButtons), await page.evaluate(covering)]).toEqual([0, 0]);
    });

    it("has two columns that use the width of a wide screen", async () => {
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
      await page.setViewportSize({ width: 1440, height: 900 });
      await operation(page, "updateInventory").locator("h4", { hasText: "Errors" }).scrollIntoViewIfNeeded();
      const send = await sendButton(page, "updateInventory").boundingBox();
      expect(send?.y).toBeGreaterThan(56);
      expect(send?.y).toBeLessThan(900);
    });

    it("tells what is selected, also in the colours that a system forces", async () => {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.emulateMedia({ forcedColors: "active" });
      await page.keyboard.press("/");
      onTestFinished(async () => {
        await page.keyboard.press("Escape");
        await page.emulateMedia({ forcedColors: "none" });
      });
      await page.locator("nav a[aria-current]").waitFor();
      for (const [kind, selected] of [
        ["nav li a", "[aria-current]"],
        ["[role=tab]", "[aria-selected=true]"],
        ["dialog.search li", "[aria-selected=true]"],
      ]) {
        // Without the opacity, as what has no ground differs in that alone.
        const colour = (selector: string) =>
          page.evaluate(
            `getComputedStyle(document.querySelector("${selector}")).backgroundColor.match(/\\d+/g).slice(0, 3)`,
          );
        expect([kind, await colour(`${kind}${selected}`)]).not.toEqual([
          kind,
          await colour(`${kind}:not(${selected})`),
        ]);
      }
    });

    it.each(schemes)("is printed in full, dark on white and without controls, from %s colours", async (colorScheme) => {
      await turn(page, colorScheme);
      onTestFinished(async () => {
        await page.emulateMedia({ media: null });
        await turn(page, "light");
      });
      await page.emulateMedia({ media: "print" });
      expect([await page.evaluate(ground), await page.evaluate(ink)]).toEqual([light, "rgb(26, 38, 41)"]);
      expect(await page.locator("button:visible, input:visible, nav:visible").count()).toBe(0);
      expect(await operation(page, "getPet").locator(".code", { hasText: "curl http" }).first().isVisible()).toBe(true);
    });

    it("cuts no sample and no answer on a low screen", async () => {
      await page.setViewportSize({ width: 1366, height: 768 });
      await page.getByRole("tab", { name: "Go", exact: true }).first().click();
      await useKey(page, (await stage.server.store.mintKey()).key);
      await sent(page, "listInventory");
      await operation(page, "listInventory").locator(".answer summary").click();
      expect(await page.evaluate(cutBelow)).toEqual([]);
    });
  });

  describe("on a phone,", () => {
    let page: Page;

    beforeAll(async () => {
      ({ page } = await openReference(await stage.createReader(phone), stage.docs));
    });

    afterAll(() => page?.close());

    it("has its navigation behind a button", async () => {
      const navigation = page.getByRole("navigation");
      expect(await navigation.isVisible()).toBe(false);
      const menu = page.getByRole("button", { name: "Menu" });
      await menu.click();
      expect(await page.evaluate("document.activeElement.hash")).toBe("#overview");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Escape");
      expect(await navigation.isVisible()).toBe(false);
      expect(await menu.evaluate((button) => button.matches(":focus"))).toBe(true);
      await menu.click();
      await navigation.getByText("Plans and limits").click();
      await page.waitForURL(/#plans-and-limits$/);
      expect(await navigation.isVisible()).toBe(false);
    });

    it("lets nobody use the page behind the open navigation", async () => {
      await page.evaluate("scrollTo(0, 0)");
      const navigation = page.getByRole("navigation");
      const menu = page.getByRole("button", { name: "Menu" });
      await menu.click();
      await navigation.getByRole("link", { name: "openapi.json" }).focus();
      await page.keyboard.press("Tab");
      // What the keyboard reaches is not covered.
      expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true);
      expect(await navigation.isVisible()).toBe(false);
      await menu.click();
      await page.mouse.move(380, 600);
      await page.mouse.wheel(0, 500);
      // A frame later the page would have moved.
      await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
      expect(await page.evaluate("scrollY")).toBe(0);
      await page.mouse.click(380, 600);
      expect(await navigation.isVisible()).toBe(false);
      await menu.click();
      await page.setViewportSize({ width: 1440, height: 900 });
      onTestFinished(() => page.setViewportSize(phone.viewport));
      await expect.poll(() => page.evaluate("document.querySelector('button.menu').ariaExpanded")).toBe("false");
    });

    it("is accessible with its dialogs open, in light and in dark colours", async () => {
      // What they cover is looked at without them.
      await page.evaluate(`document.querySelectorAll(".operation, .code, .cards").forEach((part) => part.remove())`);
      const faults = async () => {
        const found: string[] = [];
        for (const colorScheme of schemes) {
          await turn(page, colorScheme);
          found.push(...(await axeFaults(page)));
        }
        return found;
      };
      await page.getByRole("button", { name: "Menu" }).click();
      expect(await faults()).toEqual([]);
      await page.keyboard.press("Escape");
      await enterKey(page, "psk_wrong");
      expect(await faults()).toEqual([]);
      await page.getByRole("button", { name: "Search" }).click();
      expect(await faults()).toEqual([]);
    });
  });

  it("keeps its copy buttons off the code, and does not zoom in on controls, on a touch screen", async () => {
    const { page } = await visit(await stage.createReader(touch), stage.docs);
    expect(await page.locator("button.copy").count()).toBeGreaterThan(20);
    expect(await page.evaluate(covering)).toBe(0);
    expect(await page.evaluate(zoomed)).toEqual([]);
  });

  it("shows the label of a refused body on a phone", async () => {
    const { page } = await visit(await stage.createReader(phone), stage.docs);
    await useKey(page, (await stage.server.store.mintKey()).key);
    const panel = operation(page, "updateInventory");
    await panel.locator("textarea").fill("{");
    // The body is above the screen then.
    await sendButton(page, "updateInventory").evaluate((button) => button.scrollIntoView());
    expect(await sent(page, "updateInventory")).toBe(400);
    await panel.locator(".fault").waitFor();
    expect((await panel.getByText("JSON to send").boundingBox())?.y).toBeGreaterThan(56);
  });

  it("follows the system's colours until the reader chooses others, which are kept", async () => {
    const { page } = await visit(await stage.createReader({ colorScheme: "dark" }), stage.docs);
    expect(await page.evaluate(ground)).not.toBe(light);
    await page.getByRole("button", { name: "Switch to light colours" }).click();
    expect(await page.evaluate(ground)).toBe(light);
    await page.reload();
    expect(await page.evaluate(ground)).toBe(light);
  });

  it("can be read without scripts", async () => {
    const { page } = await visit(await stage.createReader({ javaScriptEnabled: false }), `${stage.docs}#get-pet`);
    for (const text of ["import urllib.request", "package main", "grpcurl -plaintext", "buf curl"]) {
      expect(await operation(page, "getPet").locator(".code", { hasText: text }).isVisible()).toBe(true);
    }
    expect(await page.locator("button:visible, input:visible, select:visible").count()).toBe(0);
    expect(await page.getByRole("navigation").isVisible()).toBe(true);
  });
});
