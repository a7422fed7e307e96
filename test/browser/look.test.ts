import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { seriousFaults } from "./axe.ts";
import { browserMissing, launchBrowser } from "./browser.ts";
import { executed, openOperation, useKey } from "./reference-page.ts";
import { createReader, visit } from "./visit.ts";

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  if (browserMissing === undefined) {
    [server, browser] = await Promise.all([serve(new TestStore(), { flags: ["--demo"] }), launchBrowser()]);
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const phone = { viewport: { width: 375, height: 812 } };

const ground = "getComputedStyle(document.body).backgroundColor";
const light = "rgb(255, 255, 255)";

// A page of this size takes its time where several tests share a core.
describe.skipIf(browserMissing !== undefined)("the look of the reference", { timeout: 60_000 }, () => {
  it("can be used by everybody, in light and dark colours and on a phone, where it fits", async () => {
    const { page } = await visit(await createReader(browser, { colorScheme: "light" }), `${server.origin}/docs`);
    await useKey(page, (await server.store.mintQuota(1, 100)).key);
    for (const operationId of ["updateInventory", "getPet", "listOrders", "listInventory"]) {
      await openOperation(page, operationId);
    }
    await executed(page, "listInventory");
    await executed(page, "listInventory");
    await page.locator(".notice").waitFor();
    expect(await page.evaluate(ground)).toBe(light);
    expect(await seriousFaults(page, "all")).toEqual([]);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(() => page.evaluate(ground), { timeout: 10_000 }).not.toBe(light);
    expect(await seriousFaults(page, "colours")).toEqual([]);
    await page.setViewportSize(phone.viewport);
    expect(await seriousFaults(page, "all but colours")).toEqual([]);
    for (const width of [375, 320]) {
      await page.setViewportSize({ ...phone.viewport, width });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
  });

  it("has its navigation behind a button on a phone", async () => {
    const { page } = await visit(await createReader(browser, phone), `${server.origin}/docs`);
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
    const { page } = await visit(await createReader(browser, { colorScheme: "dark" }), `${server.origin}/docs`);
    expect(await page.evaluate(ground)).not.toBe(light);
    await page.getByRole("button", { name: "Switch to light colours" }).click();
    expect(await page.evaluate(ground)).toBe(light);
    await page.reload();
    expect(await page.evaluate(ground)).toBe(light);
  });

  it("lets a keyboard skip the navigation", async () => {
    const { page } = await visit(await createReader(browser), `${server.origin}/docs`);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#content$/);
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
  });
});
