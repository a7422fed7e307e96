/**
 * A stock-take by plain `fetch`: counts a pet, and sets the count only if nobody has sold one meanwhile. Otherwise it
 * counts again.
 *
 *     PETSTORE_API_KEY=psk_… npm run example examples/stock-take.ts [PET]
 */
const baseUrl = process.env.BASE_URL ?? "http://127.0.0.1:8080/v1";
const headers = { authorization: `Bearer ${process.env.PETSTORE_API_KEY}`, "content-type": "application/json" };

/** Sets a pet's stock to what `count` finds. Throws what the service answers besides 412. */
async function takeStock(petId: string, count: () => Promise<number>): Promise<number> {
  for (;;) {
    const read = await fetch(`${baseUrl}/inventory/${petId}`, { headers });
    if (!read.ok) {
      throw await toError(read);
    }
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
    if (update.status !== 412) {
      throw await toError(update);
    }
    console.log("somebody wrote meanwhile: counting again");
  }
}

async function toError(answer: Response): Promise<Error> {
  const { code, message } = (await answer.json()) as { code: string; message: string };
  return new Error(`${code}: ${message}`);
}

const [pet = "7"] = process.argv.slice(2);

/** Counts nine. During the first count a till sells one. */
let counts = 0;
async function count(): Promise<number> {
  counts += 1;
  if (counts === 1) {
    const sale = { method: "POST", headers, body: JSON.stringify({ delta: -1, reason: "sale", allowNegative: true }) };
    await fetch(`${baseUrl}/inventory/${pet}:adjust`, sale);
  }
  return 9;
}

console.log(`pet ${pet}: ${await takeStock(pet, count)} counted`);
