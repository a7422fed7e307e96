import { STATUS_CODES } from "node:http";
import { judge, noUsage, type Verdict } from "../domain/limits.ts";
import { planQuotas } from "../domain/plan.ts";
import type { Judgement } from "../domain/rate-limit-decision.ts";
import { HeaderList } from "../http/header-list.ts";
import { requestIdHeader } from "../http/request-id.ts";
import { errorToRest, toConnectError } from "../interceptors/errors.ts";
import { appendLimits, limitError } from "../interceptors/limits.ts";

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
  const verdict = judgeAll([...admitted, openedAtMs + refusedAfterMs]);
  const { resetSeconds } = verdict.standing;
  return {
    answer: writeAnswer(verdict, requestId),
    limit,
    waitSeconds: verdict.retryAfterSeconds ?? 0,
    resetSeconds,
    resetTime: new Date(resetSeconds * 1_000).toISOString().slice(11, 19),
  };
}

function judgeAll(moments: readonly number[]): Verdict {
  const allowance = { quota: planQuotas.free, unbans: 0 };
  let verdict = judge(noUsage, allowance, openedAtMs);
  for (const nowMs of moments.slice(1)) {
    verdict = judge(verdict.usage, allowance, nowMs);
  }
  return verdict;
}

function writeAnswer(judgement: Judgement, requestId: string): string {
  const error = limitError(judgement);
  if (error === undefined) {
    throw new Error("the example is not refused");
  }
  const header = new HeaderList();
  header.append("content-type", "application/json");
  appendLimits(header, judgement);
  header.append(requestIdHeader, requestId);
  const { status, body } = errorToRest(toConnectError(error));
  const lines = [...header].map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", JSON.stringify(body, null, 2)].join("\n");
}
