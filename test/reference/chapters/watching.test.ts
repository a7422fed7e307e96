import { stripTypeScriptTypes } from "node:module";
import { beforeAll, describe, expect, it } from "vitest";
import { issueCursor } from "../../../src/domain/history.ts";
import { newProgress, type Webhook } from "../../../src/domain/webhook.ts";
import { createDelivery, signatureHeaders } from "../../../src/webhooks/delivery.ts";
import { stockCode, stockText } from "./stock-chapter.ts";

describe("the sections on watching", () => {
  it.each([
    "Every 15 seconds a heartbeat",
    "A key may have 32 streams open",
    "the key has 32 open",
    "once retry has passed: 1000 ms",
    "List the inventory anew, and watch from its X-Inventory-Cursor.",
  ])("say %s", (told) => {
    expect(stockText).toContain(told);
  });

  it("have samples that go on after a cursor", () => {
    const curl = "curl -N 'https://pets.example/v1/inventory/changes:watch?after=Ac16aWs_nAHXorQAAAAAAAAAEQ'";
    expect(stockCode.filter((code) => code.startsWith(curl))).toHaveLength(1);
    const loop = 'for await (const change of petstore.watchStockChanges({ after: "Ac16aWs_nAHXorQAAAAAAAAAEQ" })) {';
    expect(stockCode.filter((code) => code.includes(loop))).toHaveLength(1);
  });
});

describe("the sections on webhooks", () => {
  it.each([
    "up to 100 at a time",
    "within 10 seconds",
    "5 seconds later at first",
    "up to 1 hour apart",
    "After 3 days of failures it pauses",
    "For 24 hours after the secret was changed",
  ])("say %s", (told) => {
    expect(stockText).toContain(told);
  });

  it("show a delivery as it is made", () => {
    const shown = JSON.parse(stockCode.find((code) => code.includes("stock.changed")) ?? "");
    const [change] = shown.data.changes;
    const webhook = { id: "whk_0123456789abcdef", progress: newProgress(16n) } as Webhook;
    const made = { occurredAtMs: Date.parse(change.occurredAt), revision: 17n } as Parameters<
      typeof createDelivery
    >[1][0];
    const { body } = createDelivery(webhook, [made], "0123456789ab", () => JSON.stringify(change));
    expect(shown).toEqual(JSON.parse(body));
    expect(change.cursor).toHaveLength(issueCursor("0123456789ab", 17n).length);
  });
});

describe("the code that verifies a webhook", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const former = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
  const other = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
  const body = '{"type":"stock.changed","data":{"changes":[]},"name":"Zoë 犬"}';
  const nowSeconds = Math.floor(Date.now() / 1_000);
  let isGenuine: (headers: Headers, body: string, secret: string) => boolean;

  beforeAll(async () => {
    const code = stockCode.find((each) => each.includes("timingSafeEqual")) ?? "";
    ({ isGenuine } = await import(`data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(code))}`));
  });

  const signed = (secrets: readonly string[], timestamp = nowSeconds) =>
    new Headers(signatureHeaders({ id: "msg_1", timestamp, body }, secrets));

  const changed = (name: string, value: string) =>
    new Headers({ ...Object.fromEntries(signed([secret])), [name]: value });

  it.each<[what: string, headers: Headers, expected: boolean]>([
    ["signed by the secret", signed([secret]), true],
    ["signed by the former secret, too", signed([former, secret]), true],
    ["signed by another secret", signed([other]), false],
    ["of ten minutes ago", signed([secret], nowSeconds - 600), false],
    ["of the future", signed([secret], nowSeconds + 600), false],
    ["without headers", new Headers(), false],
    ["with an empty signature", changed("webhook-signature", ""), false],
    ["with another id", changed("webhook-id", "msg_2"), false],
  ])("takes a delivery %s for genuine or not", (_what, headers, expected) => {
    expect(isGenuine(headers, body, secret)).toBe(expected);
  });

  it("refuses another body", () => {
    expect(isGenuine(signed([secret]), `${body} `, secret)).toBe(false);
  });
});
