/**
 * A page that shows the stock live. This server mirrors the stock once, and tells all pages of its changes, so the key
 * stays here, the service needs no CORS, and any number of pages takes one stream.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/live/serve.ts
 */
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { createPetstoreClient, PetStatus } from "petstore-inventory-client";

const petstore = createPetstoreClient({
  baseUrl: process.env.BASE_URL ?? "http://127.0.0.1:8080/v1",
  apiKey: process.env.PETSTORE_API_KEY ?? "",
});

const statusNames: Readonly<Record<number, string>> = {
  [PetStatus.AVAILABLE]: "available",
  [PetStatus.PENDING]: "pending",
  [PetStatus.SOLD]: "sold",
};

const pages = new Set<ServerResponse>();
let isLive = true;

const mirror = await petstore.mirrorInventory({
  onChange: ({ petId }) => tell("stock", [row(petId)]),
  onOpen: () => tellLive(true),
  onLost: () => tellLive(false),
});

/** A row of the page; without a quantity for a pet that is gone. `JSON.parse` rounds large numbers: so they are text. */
function row(petId: bigint) {
  const entry = mirror.get(petId);
  return {
    petId: String(petId),
    quantity: entry && String(entry.quantity),
    status: entry && statusNames[entry.status],
  };
}

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A page that does not keep up is let go of: its browser comes back, and gets the whole stock. */
function tell(name: string, data: unknown): void {
  const text = event(name, data);
  for (const page of pages) {
    if (!page.write(text) && page.writableLength > 1_000_000) {
      page.destroy();
    }
  }
}

function tellLive(live: boolean): void {
  isLive = live;
  tell("live", live);
}

function follow(page: ServerResponse): void {
  page.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  page.write(event("all", [...mirror.keys()].map(row)) + event("live", isLive));
  pages.add(page);
  page.on("close", () => pages.delete(page));
}

const html = await readFile(new URL("index.html", import.meta.url), "utf8");
const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'",
};

const server = createServer(({ url }, response) => {
  if (url === "/stock") {
    follow(response);
  } else if (url === "/") {
    response.writeHead(200, headers).end(html);
  } else {
    response.writeHead(404).end();
  }
});

server.listen(Number(process.env.PORT ?? 8091), "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  console.log(`the stock is at http://127.0.0.1:${port}`);
});

// A mirror that has failed shows an old stock: so this ends, and says why.
await mirror.closed;
