import {
  deliveryTimeoutMs,
  firstWaitMs,
  formerSecretMs,
  longestWaitMs,
  maxDeliveredChanges,
  pausedAfterMs,
} from "../../domain/webhook.ts";
import { codeBlock } from "../html/code-block.ts";
import { entryOf } from "../openapi/operations.ts";
import { contentExample, responseOf } from "../openapi/view.ts";
import { writeLength } from "./amounts.ts";
import type { DocsInput } from "./template-values.ts";

/** The numbers of the sections on webhooks. */
export function webhookFacts(): Readonly<Record<string, string>> {
  return {
    "delivery-most": String(maxDeliveredChanges),
    "delivery-timeout": writeLength(deliveryTimeoutMs),
    "delivery-first-wait": writeLength(firstWaitMs),
    "delivery-longest-wait": writeLength(longestWaitMs),
    "delivery-paused-after": writeLength(pausedAfterMs),
    "former-secret": writeLength(formerSecretMs),
  };
}

/** A delivery, as HTML. It is dated as the last of its changes. */
export function webhookSamples({ document, operations }: DocsInput): Readonly<Record<string, string>> {
  const { operation } = entryOf("listStockChanges", operations);
  const changes = contentExample(responseOf(document, operation.responses["200"] ?? { $ref: "" })) as readonly {
    readonly occurredAt: string;
  }[];
  const body = { type: "stock.changed", timestamp: changes.at(-1)?.occurredAt, data: { changes } };
  return { "sample-delivery": codeBlock(JSON.stringify(body, undefined, 2), "json") };
}
