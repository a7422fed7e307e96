/**
 * REST by plain `fetch`, with no package at all: every page of a list, an update, and what to do with a 429.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/fetch.ts
 */
import { setTimeout } from "node:timers/promises";

const baseUrl = process.env.BASE_URL ?? "http://127.0.0.1:8080/v1";
const headers = { authorization: `Bearer ${process.env.PETSTORE_API_KEY}`, "content-type": "application/json" };

/** `JSON.parse` rounds integers beyond 2^53: with pet ids as large as that, use a parser that does not. */
interface InventoryItem {
  readonly petId: number;
  readonly quantity: number;
  readonly status: "available" | "pending" | "sold";
}

/** Waits for as long as a 429 says, and tries again. Throws what any other error says. */
async function send(url: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const response = await fetch(url, { ...init, headers });
    if (response.status === 429) {
      const seconds = Number(response.headers.get("retry-after"));
      console.log(`over the limit: waiting for ${seconds} s`);
      await setTimeout(seconds * 1_000);
    } else if (response.ok) {
      return response;
    } else {
      const { code, message } = (await response.json()) as { code: string; message: string };
      throw new Error(`${code}: ${message}`);
    }
  }
}

/** All stock entries; the `Link` header of a page leads to the next one. */
async function* listInventory(): AsyncGenerator<InventoryItem> {
  let next: string | undefined = `${baseUrl}/inventory?status=pending&pageSize=100`;
  while (next !== undefined) {
    const response = await send(next);
    yield* (await response.json()) as InventoryItem[];
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  }
}

for await (const { petId, quantity } of listInventory()) {
  console.log(`pet ${petId}: ${quantity} in stock`);
}

const response = await send(`${baseUrl}/inventory/7`, { method: "PATCH", body: JSON.stringify({ quantity: 7 }) });
const { petId, quantity } = (await response.json()) as InventoryItem;
console.log(`pet ${petId} now has ${quantity}`);
console.log(`${response.headers.get("x-ratelimit-remaining")} requests left`);
