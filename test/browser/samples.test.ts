import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { beyondDouble } from "../support/fixture.ts";
import { serve, TestStore } from "../support/server.ts";
import { operation, shownSample } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { openReference, visit } from "./visit.ts";

const stage = createStage({ reader: { permissions: ["clipboard-read", "clipboard-write"] } });

describeInBrowser("the samples in the reference", { timeout: 60_000 }, () => {
  it("are all in the selected language, also at the next visit, by mouse and by keyboard", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const tabs = operation(page, "updateInventory");
    await tabs.getByRole("tab", { name: "Python" }).click();
    expect(await shownSample(page, "updateInventory")).toContain("urllib.request");
    await page.keyboard.press("ArrowRight");
    expect(await shownSample(page, "updateInventory")).toContain("http.NewRequest");
    expect(await shownSample(page, "getPet")).toContain("package main");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowLeft");
    expect(await shownSample(page, "updateInventory")).toContain("buf curl");
    await page.reload();
    expect(await shownSample(page, "listOrders")).toContain("buf curl");
    await tabs.getByRole("tab", { name: "curl", exact: true }).click();
  });

  // Opening the page costs a second, and each of these tests begins with input of its own.
  describe("in one tab", () => {
    let page: Page;

    beforeAll(async () => {
      ({ page } = await openReference(stage.reader, stage.docs));
    });

    afterAll(() => page?.close());

    it.each(["Alt+ArrowRight", "Control+End", "Meta+ArrowRight", "Shift+ArrowRight"])(
      "leave %s to the browser",
      async (keys) => {
        await operation(page, "getPet").getByRole("tab", { name: "curl", exact: true }).press(keys);
        expect(await shownSample(page, "getPet")).toMatch(/^curl /);
      },
    );

    it.each(["1,2", "1, 2", "1 2", " 1\t2,"])("have each value of a list that is entered as %j", async (text) => {
      const field = operation(page, "listStockChanges").getByLabel("petId");
      expect(await field.getAttribute("placeholder")).toBe("not sent, or 1, 2, …");
      await field.fill("");
      expect(await shownSample(page, "listStockChanges")).not.toContain("petId");
      await field.fill(text);
      expect(await shownSample(page, "listStockChanges")).toContain("/v1/inventory/changes?petId=1&petId=2'");
    });

    it.each<[language: string, texts: readonly string[]]>([
      ["curl", [`/v1/inventory/${beyondDouble} \\\n  -X PATCH`, `--json '{"quantity": ${beyondDouble + 2n}}'`]],
      ["TypeScript", [`petId: ${beyondDouble}n, update: { quantity: ${beyondDouble + 2n}n }`]],
      ["Python", [`/v1/inventory/${beyondDouble}"`, `data='{"quantity": ${beyondDouble + 2n}}'.encode()`]],
      ["Go", [`/v1/inventory/${beyondDouble}"`, `strings.NewReader(\`{"quantity": ${beyondDouble + 2n}}\`)`]],
      ["grpcurl", [`-d '{"petId": ${beyondDouble}, "update": {"quantity": ${beyondDouble + 2n}}}'`]],
      ["buf curl", [`-d '{"petId": ${beyondDouble}, "update": {"quantity": ${beyondDouble + 2n}}}'`]],
    ])("in %s follow the input, with all digits", async (language, texts) => {
      const panel = operation(page, "updateInventory");
      await panel.getByLabel("petId").fill("7");
      await panel.locator("textarea").fill("{}");
      await panel.getByRole("tab", { name: language, exact: true }).click();
      expect(await shownSample(page, "updateInventory")).not.toContain(String(beyondDouble));
      await panel.getByLabel("petId").fill(String(beyondDouble));
      await panel.locator("textarea").fill(`{"quantity": ${beyondDouble + 2n}}`);
      for (const text of texts) {
        expect(await shownSample(page, "updateInventory")).toContain(text);
      }
      expect(
        await panel.locator(".request .code :is(.number, .string)").filter({ visible: true }).count(),
      ).toBeGreaterThan(0);
    });
  });

  it("stay in place on the screen when the language is selected", async () => {
    const { page } = await visit(await stage.createReader({ viewport: { width: 390, height: 844 } }), stage.docs);
    const tab = operation(page, "listOrders").getByRole("tab", { name: "Go" });
    await tab.scrollIntoViewIfNeeded();
    const before = await tab.boundingBox();
    await tab.click();
    expect((await tab.boundingBox())?.y).toBeCloseTo(before?.y ?? 0, -1);
  });

  it("follow the filter", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const panel = operation(page, "listInventory");
    await panel.getByRole("tab", { name: "TypeScript" }).click();
    await panel.getByLabel("sold").check();
    await panel.getByLabel("pageSize").fill("50");
    expect(await shownSample(page, "listInventory")).toContain(
      "petstore.listInventory({ pageSize: 50, status: [PetStatus.SOLD] })",
    );
    await panel.getByRole("tab", { name: "curl", exact: true }).click();
    expect(await shownSample(page, "listInventory")).toContain("'http://127.0.0.1:");
    expect(await shownSample(page, "listInventory")).toContain("/v1/inventory?pageSize=50&status=sold");
  });

  it("are copied as they are", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    const panel = operation(page, "getPet");
    await panel.locator(".request .code").filter({ visible: true }).hover();
    await panel.getByRole("button", { name: "Copy" }).filter({ visible: true }).first().click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await shownSample(page, "getPet"));
    expect(await panel.getByRole("button", { name: "Copied" }).count()).toBe(1);
  });

  it("call the selected server, which does not get the key of the other", async () => {
    const flags = ["--base-url", "https://api.pets.example/v1", "--staging-base-url", `${stage.server.origin}/v1`];
    const other = await serve(new TestStore(), { flags });
    onTestFinished(() => other.stop());
    const { page } = await visit(stage.reader, `${other.origin}/docs`);
    expect(await shownSample(page, "getPet")).toContain("curl https://api.pets.example/v1/pets/7");
    await page.evaluate(`sessionStorage.setItem("api-key https://api.pets.example/v1", "psk_")`);
    await page.getByLabel("Server").selectOption({ label: "Staging" });
    expect(await shownSample(page, "getPet")).toContain(`curl ${stage.server.origin}/v1/pets/7`);
    expect(await shownSample(page, "listOrders")).toContain(`curl ${stage.server.origin}/v1/store/orders`);
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  it("have the address in the reader's address bar", async () => {
    const { page } = await visit(stage.reader, stage.docs.replace("127.0.0.1", "localhost"));
    const panel = operation(page, "listInventory");
    expect(await shownSample(page, "listInventory")).toContain(
      `curl http://localhost:${stage.server.port}/v1/inventory`,
    );
    await panel.getByRole("tab", { name: "grpcurl" }).click();
    expect(await shownSample(page, "listInventory")).toContain(`localhost:${stage.server.port} petstore.v1`);
    await panel.getByLabel("sold").check();
    expect(await shownSample(page, "listInventory")).toContain(`localhost:${stage.server.port} petstore.v1`);
    expect(await page.locator("main").textContent()).not.toContain("127.0.0.1");
  });
});
