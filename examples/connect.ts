/**
 * The client: a list page by page, an update, an error, and the limits.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/connect.ts
 */
import { createPetstoreClient, PetStatus, reasonOf } from "petstore-inventory-client";

const petstore = createPetstoreClient({
  baseUrl: process.env.BASE_URL ?? "http://127.0.0.1:8080/v1",
  apiKey: process.env.PETSTORE_API_KEY ?? "",
});

for await (const { petId, quantity } of petstore.listInventory({ status: [PetStatus.PENDING], pageSize: 100 })) {
  console.log(`pet ${petId}: ${quantity} in stock`);
}

const { item } = await petstore.inventory.updateInventory({ petId: 7n, update: { quantity: 5n } });
console.log(`pet ${item?.petId} now has ${item?.quantity}`);

try {
  await petstore.inventory.updateInventory({ petId: 404404n, update: { quantity: 5n } });
} catch (error) {
  if (reasonOf(error) !== "PET_NOT_FOUND") {
    throw error;
  }
  console.log("there is no pet 404404");
}

console.log(`${petstore.limits?.remaining} requests left until ${petstore.limits?.reset.toISOString()}`);
