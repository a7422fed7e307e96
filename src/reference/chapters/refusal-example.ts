import { STATUS_CODES } from "node:http";
import { type DecisionWithUsage, decide, noUsage } from "../../domain/limits.ts";
import { planQuotas } from "../../domain/plan.ts";
import type { RateLimitDecision } from "../../domain/rate-limit-decision.ts";
import { HeaderList } from "../../http/header-list.ts";
import { requestIdHeader } from "../../http/request-id.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";
import { appendLimits, limitError } from "../../interceptors/limits.ts";

/** A 429 as the service answers it. */
export interface RefusalExample {
  /** The answer as it stands on the wire. */
  readonly answer: string;
  readonly limit: number;
  readonly waitSeconds: number;
  readonly resetSeconds: number;
  /** The moment of the reset, as `HH:MM:SS` in UTC. */
  readonly resetTime: string;
}

/** Any moment will do. */
const openedAtMs = Date.parse("2026-11-20T12:00:00Z");
const refusedAfterMs = 42_000;

/**
 * What a Free key is told that sends one request more than its plan has in a minute: judged by the limits themselves.
 */
export function refusalExample(requestId: string): RefusalExample {
  const { perMinute: limit } = planQuotas.free;
  const admitted = Array.from({ length: limit }, () => openedAtMs);
  const decision = decideAll([...admitted, openedAtMs + refusedAfterMs]);
  const { resetSeconds } = decision.headerValues;
  return {
    answer: writeAnswer(decision, requestId),
    limit,
    waitSeconds: decision.retryAfterSeconds ?? 0,
    resetSeconds,
    resetTime: new Date(resetSeconds * 1_000).toISOString().slice(11, 19),
  };
}

function decideAll(moments: readonly number[]): DecisionWithUsage {
  const allowance = { quota: planQuotas.free, unbans: 0 };
  let decision = decide(noUsage, allowance, openedAtMs);
  for (const nowMs of moments.slice(1)) {
    decision = decide(decision.usage, allowance, nowMs);
  }
  return decision;
}

function writeAnswer(decision: RateLimitDecision, requestId: string): string {
  const error = limitError(decision);
  if (error === undefined) {
    throw new Error("the example is not refused");
  }
  const header = new HeaderList();
  header.append("content-type", "application/json");
  appendLimits(header, decision);
  header.append(requestIdHeader, requestId);
  const { status, body } = errorToRest(toConnectError(error));
  const lines = [...header].map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", JSON.stringify(body, null, 2)].join("\n");
}
