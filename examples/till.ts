/**
 * A till: sells what there is, and never more. A sale that is sent twice, because its answer was lost, is done once.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/till.ts
 */
import { createPetstoreClient, reasonOf } from "petstore-inventory-client";

const petstore = createPetstoreClient({
  baseUrl: process.env.BASE_URL ?? "http://127.0.0.1:8080/v1",
  apiKey: process.env.PETSTORE_API_KEY ?? "",
});

/** Takes some of a pet's stock, once for each receipt. Returns what is left; undefined where there is too little. */
async function sell(petId: bigint, count: bigint, receipt: string): Promise<bigint | undefined> {
  try {
    const { item } = await petstore.inventory.adjustInventory(
      { petId, adjustment: { delta: -count, reason: "sale", reference: receipt } },
      { headers: { "Idempotency-Key": receipt } },
    );
    return item?.quantity;
  } catch (error) {
    if (reasonOf(error) === "INSUFFICIENT_STOCK") {
      return undefined;
    }
    throw error;
  }
}

const receipt = `receipt-${Date.now()}`;
console.log(`sold one of pet 7: ${await sell(7n, 1n, receipt)} left`);
console.log(`the same receipt again: ${await sell(7n, 1n, receipt)} left`);
console.log(`a million more: ${(await sell(7n, 1_000_000n, `${receipt}-b`)) ?? "refused, there are not so many"}`);
