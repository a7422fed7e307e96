/**
 * A checkout: holds the goods of a cart while its customer pays, then takes them, or gives them back.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/checkout.ts
 */
import { createPetstoreClient, HoldState, toDuration } from "petstore-inventory-client";

const petstore = createPetstoreClient({
  baseUrl: process.env.BASE_URL ?? "http://127.0.0.1:8080/v1",
  apiKey: process.env.PETSTORE_API_KEY ?? "",
});

/** Holds some of a pet's stock for a cart, and takes it if the customer pays. */
async function checkOut(
  petId: bigint,
  quantity: bigint,
  cart: string,
  pay: () => Promise<boolean>,
): Promise<HoldState> {
  const { hold } = await petstore.holds.createHold({ petId, quantity, ttl: toDuration(60_000), reference: cart });
  const holdId = hold?.holdId ?? "";
  const { availability } = await petstore.inventory.getAvailability({ petId });
  console.log(
    `${cart}: ${hold?.quantity} held, ${availability?.available} of ${availability?.quantity} left for others`,
  );
  const ended = (await pay())
    ? await petstore.holds.commitHold({ holdId, reason: "sale" })
    : await petstore.holds.releaseHold({ holdId });
  return ended.hold?.state ?? HoldState.UNSPECIFIED;
}

const paid = await checkOut(7n, 1n, "cart 5", async () => true);
console.log(`cart 5: ${paid === HoldState.COMMITTED ? "sold" : "not sold"}`);
const declined = await checkOut(7n, 1n, "cart 6", async () => false);
console.log(`cart 6: ${declined === HoldState.RELEASED ? "given back" : "not given back"}`);
