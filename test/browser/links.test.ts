import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anchorsOf, expectInSight } from "./link-target.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { openReference } from "./visit.ts";

const stage = createStage();

const screens = {
  desktop: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 } },
} as const satisfies Record<string, BrowserContextOptions>;

const readers = [
  { screen: "desktop", reducedMotion: "no-preference" },
  { screen: "phone", reducedMotion: "no-preference" },
  { screen: "desktop", reducedMotion: "reduce" },
  { screen: "phone", reducedMotion: "reduce" },
] as const;

/** Clicks a link as a reader does. Opens the navigation first if it is closed. */
async function clickInNavigation(page: Page, href: string): Promise<void> {
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible()) {
    await menu.click();
  }
  await page.locator(`nav a[href="${href}"]`).click();
}

// Opening the page takes a second, so the tests of a reader share a tab.
describeInBrowser.each(readers)(
  "a link in the reference, on a $screen, with motion: $reducedMotion,",
  { timeout: 120_000 },
  ({ screen, reducedMotion }) => {
    let reader: BrowserContext;
    let page: Page;

    beforeAll(async () => {
      reader = await stage.createReader({ ...screens[screen], reducedMotion });
      ({ page } = await openReference(reader, stage.docs));
    });

    afterAll(() => reader?.close());

    it("scrolls to its target when clicked, and adds one history entry", async () => {
      const hrefs = (await page.evaluate(
        `[...new Set([...document.querySelectorAll('main a[href^="#"], nav a[href^="#"]')].map(({ hash }) => hash))]`,
      )) as string[];
      expect(hrefs.length).toBeGreaterThan(50);
      await page.evaluate(`
          globalThis.entries = [];
          navigation.addEventListener("navigate", ({ destination, navigationType }) => {
            entries.push([new URL(destination.url).hash, navigationType]);
          });
        `);
      for (const href of hrefs) {
        await page.evaluate(`document.querySelector('main a[href="${href}"], nav a[href="${href}"]').click()`);
        await expectInSight(page, href.slice(1));
      }
      expect(await page.evaluate("entries")).toEqual(hrefs.map((href) => [href, "push"]));
    });

    // Motion changes nothing there.
    describe.runIf(reducedMotion === "no-preference")("when the page is opened by it,", () => {
      let opened: Page;

      beforeAll(async () => {
        opened = await reader.newPage();
      });

      // A tab behind another one draws a frame a second.
      afterAll(() => opened?.close());

      /** With another query, the tab loads the page again. */
      const open = (anchor: string) => opened.goto(`${stage.docs}?${encodeURIComponent(anchor)}#${anchor}`);

      it("leads to its target", async () => {
        const anchors = await anchorsOf(page);
        expect(anchors.length).toBeGreaterThan(35);
        // A page that opens treats all targets alike. The two screens do not open it at the same ones.
        const first = screen === "desktop" ? 0 : 6;
        for (const id of anchors.filter((_, index) => index % 12 === first)) {
          await open(id);
          await expectInSight(opened, id);
        }
      });

      // Where an anchor leads to is the same on every screen.
      it.runIf(screen === "desktop").each([
        ["/PetService/getPet", "get-pet"],
        ["/InventoryService/updateInventory", "update-inventory"],
        ["operations-tag-PetService", "operations"],
        ["overview-good-to-know", "conventions"],
        ["errors-in-which-order-a-request-is-judged", "errors-the-order-of-checks"],
      ])("redirects its former anchor %s", async (former, id) => {
        await open(former);
        await expectInSight(opened, id);
        expect(new URL(opened.url()).hash).toBe(`#${id}`);
        await opened.evaluate(`location.hash = "#overview"`);
        await opened.evaluate(`location.hash = "#${former}"`);
        await expectInSight(opened, id);
      });
    });

    it("is left by going back", async () => {
      await page.evaluate("scrollTo(0, 700)");
      await clickInNavigation(page, "#get-pet");
      await expectInSight(page, "get-pet");
      await clickInNavigation(page, "#versioning-and-stability");
      await expectInSight(page, "versioning-and-stability");
      await page.goBack();
      await expectInSight(page, "get-pet");
      await page.goBack();
      await expect.poll(() => page.evaluate("scrollY")).toBe(700);
    });

    it("marks its target in the navigation", async () => {
      // Without it, a mark that does not last is right for a moment.
      const settled = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))";
      const marked = () =>
        page.locator("nav [aria-current]").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
      for (const href of [
        "#update-inventory",
        "#errors",
        "#overview",
        "#stock",
        "#versioning-and-stability",
        "#overview-quick-start",
      ]) {
        await clickInNavigation(page, href);
        await page.evaluate(settled);
        await expect.poll(marked).toEqual([href]);
        const link = page.locator(`nav a[href="${href}"]`);
        const name = (await link.locator("span").count()) > 0 ? link.locator("span").first() : link;
        expect(await page.title()).toBe(`${await name.textContent()} · Petstore Inventory API`);
      }
    });
  },
);
