/**
 * A receiver of webhooks: believes only what is signed, and applies each change once. It needs nothing but Node.
 *
 *     npm start -- --allow-private
 *     npx petstore webhooks create --url http://127.0.0.1:8088/
 *     WEBHOOK_SECRET=whsec_… npm run example examples/webhook-receiver.ts
 *
 * Only with `--allow-private` does the service post to an address that is not public, such as this machine's.
 *
 * To rotate the secret, run `petstore webhooks rotate-secret`, and start this with the new one within a day: until then
 * requests are signed by both. WEBHOOK_SECRET may also hold both, separated by a space.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

interface Change {
  readonly cursor: string;
  readonly petId: bigint;
  readonly before?: bigint;
  readonly after: bigint;
}

/** `JSON.parse` whose reviver sees how a number is written. TypeScript does not know of that yet. */
const parseWithSource = JSON.parse as (
  text: string,
  revive: (name: string, value: unknown, context: { readonly source: string }) => unknown,
) => { readonly type: string; readonly data: { readonly changes: readonly Change[] } };

/** Reads a delivery. Its numbers are integers of 64 bits, which `JSON.parse` alone would round. */
function parseDelivery(text: string) {
  return parseWithSource(text, (_name, value, { source }) => (typeof value === "number" ? BigInt(source) : value));
}

const secrets = (process.env.WEBHOOK_SECRET ?? "").split(" ").filter((secret) => secret.startsWith("whsec_"));

/** A request that is older is one that somebody sends again, or the clocks differ. */
const toleranceSeconds = 5 * 60;

/** The largest body: a hundred changes have less than half. */
const maxBytes = 1024 * 1024;

/** Whether a request comes from the service, as Standard Webhooks says. */
function isGenuine({ headers }: IncomingMessage, body: Buffer): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  const isRecent = Math.abs(Date.now() / 1_000 - Number(timestamp)) <= toleranceSeconds;
  const content = Buffer.concat([Buffer.from(`${String(id)}.${String(timestamp)}.`), body]);
  return (
    isRecent &&
    String(signatures)
      .split(" ")
      .some((signature) => isSignature(signature, content))
  );
}

function isSignature(signature: string, content: Buffer): boolean {
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const expected = Buffer.from(`v1,${createHmac("sha256", key).update(content).digest("base64")}`);
    const given = Buffer.from(signature);
    // In constant time: how long it takes says nothing of the expected signature.
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/**
 * What was applied already. A delivery comes again where its answer was lost, and all of them do where the webhook is
 * made anew with `--from start`. Keep both in the database, in the transaction that applies the changes.
 */
const [deliveries, cursors] = [new Set<string>(), new Set<string>()];

/** How many are remembered. Deliveries come in order, so only the last ones can come again. */
const remembered = 100_000;

function remember(seen: Set<string>, name: string): void {
  seen.add(name);
  if (seen.size > remembered) {
    const [oldest = ""] = seen;
    seen.delete(oldest);
  }
}

function apply(id: string, changes: readonly Change[]): void {
  if (deliveries.has(id)) {
    return;
  }
  for (const { cursor, petId, before, after } of changes.filter(({ cursor }) => !cursors.has(cursor))) {
    console.log(`pet ${petId}: ${before ?? "new"} -> ${after}`);
    remember(cursors, cursor);
  }
  remember(deliveries, id);
}

/** Answers 2xx once everything is applied. Whatever else it answers, the delivery comes again. */
async function receive(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) {
      return 413;
    }
  }
  const body = Buffer.concat(chunks);
  if (!isGenuine(request, body)) {
    return 401;
  }
  const { type, data } = parseDelivery(body.toString());
  if (type === "stock.changed") {
    apply(String(request.headers["webhook-id"]), data.changes);
  } else {
    console.log(`received ${type}`);
  }
  return 204;
}

if (secrets.length === 0) {
  throw new Error("set WEBHOOK_SECRET to what 'petstore webhooks create' has printed");
}

const server = createServer((request, response) => {
  const answer = (status: number) => response.writeHead(status, { connection: "close" }).end();
  receive(request).then(answer, () => answer(400));
});
server.listen(Number(process.env.PORT ?? 8088), "127.0.0.1", () => {
  console.log(`receiving on http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
