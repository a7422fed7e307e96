import { createHmac } from "node:crypto";
import type { StockChange } from "../domain/history.ts";
import type { DeliveryAttempt, Webhook } from "../domain/webhook.ts";
import { PrivateAddressError } from "./address.ts";
import { isSuccess, PostTimeoutError, type SendPost } from "./post.ts";
import { type SecretCipher, UndecryptableSecretError } from "./secret-cipher.ts";

/** One delivery: its id and its body. */
export interface Delivery {
  /** The `webhook-id`, which all attempts of a delivery share. */
  readonly id: string;
  /** In JSON. */
  readonly body: string;
  /** How many changes the body has. */
  readonly changes: number;
}

/** Writes a change in the JSON of REST. `lineage` is that of the history. */
export type WriteChange = (change: StockChange, lineage: string) => string;

/** Makes the delivery of changes that follow a position in the history. The same changes make the same delivery. */
export function createDelivery(
  { id, progress }: Webhook,
  changes: readonly StockChange[],
  lineage: string,
  write: WriteChange,
): Delivery {
  const last = changes.at(-1) as StockChange;
  const timestamp = new Date(last.occurredAtMs).toISOString();
  const data = changes.map((change) => write(change, lineage)).join(",");
  return {
    id: `msg_${id.replace(/^whk_/, "")}_${lineage}_${progress.position}_${last.revision}`,
    body: `{"type":"stock.changed","timestamp":"${timestamp}","data":{"changes":[${data}]}}`,
    changes: changes.length,
  };
}

/** The delivery by which an operator tests a webhook. `nonce` makes its id unique. */
export function createTestDelivery({ id }: Webhook, nonce: string, nowMs: number): Delivery {
  const timestamp = new Date(nowMs).toISOString();
  return {
    id: `msg_test_${nonce}`,
    body: `{"type":"webhook.test","timestamp":"${timestamp}","data":{"webhookId":"${id}"}}`,
    changes: 0,
  };
}

/** How deliveries are attempted. */
export interface AttemptOptions {
  readonly send: SendPost;
  readonly secrets: SecretCipher;
  readonly allowPrivate: boolean;
  readonly clock: () => number;
}

/** An attempt that has ended. */
export interface EndedAttempt {
  readonly attempt: DeliveryAttempt;
  /** How long the receiver asks to wait, in milliseconds; undefined where it does not. */
  readonly retryAfterMs: number | undefined;
}

/** Attempts a delivery. Rejects only with the signal's reason. Any other failure becomes the `fault` of the attempt. */
export async function attemptDelivery(
  webhook: Webhook,
  { id, body, changes }: Delivery,
  signal: AbortSignal,
  { send, secrets, allowPrivate, clock }: AttemptOptions,
): Promise<EndedAttempt> {
  signal.throwIfAborted();
  const atMs = clock();
  const startedAtMs = performance.now();
  const ended = (status: number | undefined, fault: string | undefined): DeliveryAttempt => {
    return { deliveryId: id, atMs, durationMs: performance.now() - startedAtMs, changes, status, fault };
  };
  try {
    const content = { id, timestamp: Math.floor(atMs / 1_000), body };
    const headers = {
      "content-type": "application/json",
      "user-agent": "petstore-inventory",
      ...signatureHeaders(content, secretsOf(webhook, secrets, atMs)),
    };
    const { status, retryAfter } = await send({ url: new URL(webhook.url), headers, body, allowPrivate, signal });
    return { attempt: ended(status, faultOf(status)), retryAfterMs: parseRetryAfter(retryAfter, clock()) };
  } catch (reason) {
    signal.throwIfAborted();
    return { attempt: ended(undefined, describe(reason)), retryAfterMs: undefined };
  }
}

/** The secrets that sign now. A former secret that cannot be decrypted is left out, so that it stops no delivery. */
function secretsOf({ id, secret, formerSecret }: Webhook, secrets: SecretCipher, nowMs: number): readonly string[] {
  const present = secrets.decrypt(secret, id);
  const former =
    formerSecret && nowMs < formerSecret.endsAtMs ? secrets.decryptIfPossible(formerSecret.secret, id) : undefined;
  return former === undefined ? [present] : [present, former];
}

function faultOf(status: number): string | undefined {
  if (isSuccess(status)) {
    return undefined;
  }
  return status >= 300 && status < 400 ? `it answered ${status}: it must not redirect` : `it answered ${status}`;
}

/** `Retry-After` in milliseconds. Source: RFC 9110, 10.2.3 */
function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** The codes of the system's errors, in words. */
const faults: Readonly<Record<string, string>> = {
  ENOTFOUND: "its name is unknown",
  EAI_AGAIN: "its name cannot be looked up at present",
  ECONNREFUSED: "it refuses connections",
  ECONNRESET: "it broke the connection",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  EPROTO: "it speaks no TLS, or an unsafe version",
};

/** Why an attempt has failed. Nothing that the receiver has sent is repeated. */
function describe(reason: unknown): string {
  if (
    reason instanceof PrivateAddressError ||
    reason instanceof PostTimeoutError ||
    reason instanceof UndecryptableSecretError
  ) {
    return reason.message;
  }
  const { code = "" } = reason as { readonly code?: string };
  const fault = faults[code];
  if (fault !== undefined) {
    return fault;
  }
  if (code.startsWith("HPE_")) {
    return "its answer is not HTTP";
  }
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return `its certificate is not trusted (${code})`;
  }
  return code === "" ? "no answer" : `no answer (${code})`;
}

/** A request to sign. */
interface SignedContent {
  /** The `webhook-id`. */
  readonly id: string;
  /** In Unix seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * The headers that let a receiver verify a request. They have a signature by each secret, as `mintSigningSecret` draws
 * them.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signatureHeaders(content: SignedContent, secrets: readonly string[]): Record<string, string> {
  const { id, timestamp, body } = content;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signatures.join(" ") };
}
