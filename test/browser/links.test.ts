import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anchorsOf, expectInSight } from "./link-target.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { visit } from "./visit.ts";

const stage = createStage();

const screens = {
  desktop: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 } },
} as const satisfies Record<string, BrowserContextOptions>;

const readers = Object.entries(screens).flatMap(([screen, options]) =>
  (["no-preference", "reduce"] as const).map((reducedMotion) => ({ screen, reducedMotion, options })),
);

/** Clicks a link as a reader does. Opens the navigation first if it is closed. */
async function clickInNavigation(page: Page, href: string): Promise<void> {
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible()) {
    await menu.click();
  }
  await page.locator(`nav a[href="${href}"]`).click();
}

describeInBrowser.each(readers)(
  "a link in the reference, on a $screen, with motion: $reducedMotion,",
  { timeout: 120_000 },
  ({ reducedMotion, options }) => {
    let reader: BrowserContext;

    beforeAll(async () => {
      reader = await stage.createReader({ ...options, reducedMotion });
    });

    afterAll(() => reader?.close());

    it("scrolls to its target when clicked, and adds one history entry", async () => {
      const { page } = await visit(reader, stage.docs);
      await page.evaluate(`
        globalThis.entries = [];
        navigation.addEventListener("navigate", ({ navigationType }) => entries.push(navigationType));
      `);
      const hrefs = (await page.evaluate(
        `[...new Set([...document.querySelectorAll('main a[href^="#"], nav a[href^="#"]')].map(({ hash }) => hash))]`,
      )) as string[];
      expect(hrefs.length).toBeGreaterThan(50);
      for (const href of hrefs) {
        await page.evaluate(`{
          history.replaceState(null, "", location.pathname);
          entries.length = 0;
          document.querySelector('main a[href="${href}"], nav a[href="${href}"]').click();
        }`);
        const id = href.slice(1);
        await expectInSight(page, id);
        expect([id, await page.evaluate("entries")]).toEqual([id, ["push"]]);
      }
    });

    // A page opens at its target at once, so motion makes no difference.
    describe.runIf(reducedMotion === "no-preference")("when the page is opened by it,", () => {
      it("leads to its target", async () => {
        const { page } = await visit(reader, stage.docs);
        const anchors = await anchorsOf(page);
        expect(anchors.length).toBeGreaterThan(35);
        // A page that opens treats all targets alike, and opening takes a second.
        for (const id of anchors.filter((_, index) => index % 6 === 0)) {
          await page.goto("about:blank");
          await page.goto(`${stage.docs}#${id}`);
          await expectInSight(page, id);
        }
      });

      it.each([
        ["/PetService/getPet", "get-pet"],
        ["/InventoryService/updateInventory", "update-inventory"],
        ["operations-tag-PetService", "operations"],
        ["overview-good-to-know", "conventions"],
        ["errors-in-which-order-a-request-is-judged", "errors-the-order-of-checks"],
      ])("redirects its former anchor %s", async (former, id) => {
        const { page } = await visit(reader, `${stage.docs}#${former}`);
        await expectInSight(page, id);
        expect(new URL(page.url()).hash).toBe(`#${id}`);
        await page.evaluate(`location.hash = "#overview"`);
        await page.evaluate(`location.hash = "#${former}"`);
        await expectInSight(page, id);
      });
    });

    it("is left by going back", async () => {
      const { page } = await visit(reader, stage.docs);
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
      const { page } = await visit(reader, stage.docs);
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
