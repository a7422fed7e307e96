/**
 * A mirror: the whole stock in a map that follows the service's, so that looking at it takes no request.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/mirror.ts
 */
import { createPetstoreClient } from "petstore-inventory-client";

const petstore = createPetstoreClient({
  baseUrl: process.env.BASE_URL ?? "http://127.0.0.1:8080/v1",
  apiKey: process.env.PETSTORE_API_KEY ?? "",
});

const mirror = await petstore.mirrorInventory({
  onChange: ({ petId, before, after }) => console.log(`pet ${petId}: ${before?.quantity} → ${after?.quantity}`),
  onLost: (error) => console.error("no connection, trying again:", error),
});
console.log(`${mirror.size} pets, ${mirror.get(7n)?.quantity} of pet 7`);

// Somebody sells one. An answer means that it is on the disk; the mirror shows it some milliseconds later.
await petstore.inventory.adjustInventory({ petId: 7n, adjustment: { delta: -1n, reason: "sale" } });

// It lasts until you close it, here in a second. `closed` rejects when something else ends it, such as a revoked key.
setTimeout(() => void mirror.close(), 1_000);
await mirror.closed;
console.log(`${mirror.get(7n)?.quantity} of pet 7 in the end`);
