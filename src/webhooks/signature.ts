import { createHmac } from "node:crypto";

/** A request to be signed. */
export interface SignedContent {
  /** The `webhook-id`. */
  readonly id: string;
  /** In Unix seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * The headers that let a receiver verify a request: a signature by each secret, which are as `mintSigningSecret` draws
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
