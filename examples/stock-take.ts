/**
 * A stock-take by plain `fetch`: counts a pet, and sets the count only if nobody has sold one meanwhile. Otherwise it
 * counts again.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/stock-take.ts
 */
const baseUrl = process.env.BASE_URL ?? "http://127.0.0.1:8080/v1";
const headers = { authorization: `Bearer ${process.env.PETSTORE_API_KEY}`, "content-type": "application/json" };

/** Sets a pet's stock to what `count` finds. Throws what the service answers besides 412. */
async function takeStock(petId: number, count: () => Promise<number>): Promise<number> {
  for (;;) {
    const read = await fetch(`${baseUrl}/inventory/${petId}`, { headers });
    const etag = read.headers.get("etag") ?? "";
    const quantity = await count();
    const update = await fetch(`${baseUrl}/inventory/${petId}`, {
      method: "PATCH",
      headers: { ...headers, "if-match": etag },
      body: JSON.stringify({ quantity, reason: "stock-take" }),
    });
    if (update.ok) {
      return quantity;
    }
    const { code, message } = (await update.json()) as { code: string; message: string };
    if (code !== "PRECONDITION_FAILED") {
      throw new Error(`${code}: ${message}`);
    }
    console.log("somebody wrote meanwhile: counting again");
  }
}

/** Counts nine. During the first count a till sells one. */
let counts = 0;
async function count(): Promise<number> {
  counts += 1;
  if (counts === 1) {
    const sale = { method: "POST", headers, body: JSON.stringify({ delta: -1, reason: "sale", allowNegative: true }) };
    await fetch(`${baseUrl}/inventory/7:adjust`, sale);
  }
  return 9;
}

console.log(`pet 7: ${await takeStock(7, count)} counted`);
