import { STATUS_CODES } from "node:http";
import { petNotFound } from "../../domain/errors.ts";
import { planQuotas } from "../../domain/key.ts";
import { type DecisionWithUsage, decide } from "../../domain/limits.ts";
import type { RateLimitDecision } from "../../domain/rate-limit-decision.ts";
import { noUsage } from "../../domain/usage.ts";
import { HeaderList } from "../../http/header-list.ts";
import { requestIdHeader } from "../../http/request-id.ts";
import { deprecationHeaders } from "../../interceptors/deprecation.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";
import { appendLimits, limitError } from "../../interceptors/limits.ts";
import { operationOf } from "../../interceptors/operation.ts";
import type { SampleCall } from "../assets/samples/call.js";
import { authorization, joinLines } from "../assets/samples/shell.js";
import { codeBlock } from "../html/code-block.ts";
import type { OperationEntry } from "../openapi/operations.ts";

/** The body of an error answer, as the service writes it, indented. */
export function errorExample(): string {
  return JSON.stringify(errorToRest(toConnectError(petNotFound(7n))).body, undefined, 2);
}

/** The headers of the first deprecated operation, as HTML; or a sentence that there is none. */
export function deprecationExample(entries: readonly OperationEntry[]): string {
  for (const { rpc } of entries) {
    const deprecation = operationOf(rpc)?.deprecation;
    if (deprecation !== undefined) {
      const lines = Object.entries(deprecationHeaders(rpc, deprecation)).map(([name, value]) => `${name}: ${value}`);
      return codeBlock(lines.join("\n"), "http");
    }
  }
  return "<p>No operation is deprecated at present.</p>";
}

/** A command that makes one call more than `limit` allows, and counts the answers by status. */
export function exceedingSample({ url }: SampleCall, limit: number): string {
  return joinLines([
    `curl -s -o /dev/null -w "%{http_code}\\n" ${authorization}`,
    `"${url}?pageSize=1&n=[1-${limit + 1}]" | sort | uniq -c`,
  ]);
}

/** An answer with status 429. */
export interface RefusalExample {
  /** The answer as HTTP/1.1 sends it. */
  readonly answer: string;
  readonly limit: number;
  readonly waitSeconds: number;
  readonly resetSeconds: number;
  /** The time of the reset, as `HH:MM:SS` in UTC. */
  readonly resetTime: string;
}

/** Any time is fine. */
const openedAtMs = Date.parse("2026-11-20T12:00:00Z");
const refusedAfterMs = 42_000;

/** The answer to a Free key that makes one request more than its plan allows a minute. The rules themselves decide. */
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
