import { STATUS_CODES } from "node:http";
import { plans } from "../../domain/key.ts";
import {
  banLengthsMs,
  type DecisionWithUsage,
  decide,
  noUsage,
  planQuotas,
  type RateLimitDecision,
} from "../../domain/limits.ts";
import { requestIdHeader } from "../../http/exchange.ts";
import { HeaderList } from "../../http/header-list.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";
import { appendLimits, limitError } from "../../interceptors/limits.ts";
import type { SampleCall } from "../assets/samples/call.js";
import { authorization, joinLines } from "../assets/samples/shell.js";
import type { OpenApiDocument } from "../openapi.ts";
import { writeLength, writeNumber, writeTable } from "./markdown.ts";

/** The plans and their quotas, as a Markdown table. */
export function planTable(): string {
  const quotas: Readonly<Partial<Record<string, { perMinute: number; perDay: number }>>> = planQuotas;
  const rows = plans.map((plan) => {
    const quota = quotas[plan];
    const numbers = quota === undefined ? ["custom", "custom"] : [quota.perMinute, quota.perDay].map(writeNumber);
    return [`${plan[0]?.toUpperCase()}${plan.slice(1)}`, ...numbers];
  });
  return writeTable(["Plan", "Requests a minute", "Requests a day"], rows, ["---", "---:", "---:"]);
}

/** The headers of a refusal that describe the limits, as a Markdown table. */
export function limitHeaderTable({ components }: OpenApiDocument): string {
  const names = Object.keys(components.responses.TooManyRequests?.headers ?? {});
  const rows = names
    .filter((name) => /RateLimit|^Retry-After$/.test(name))
    .map((name) => [`\`${name}\``, `${components.headers[name]?.description}`]);
  return writeTable(["Header", "Meaning"], rows);
}

/** The length of each ban, as a Markdown table. */
export function banTable(): string {
  const rows = banLengthsMs.map((length, i) => [ordinal(i + 1, banLengthsMs.length), writeLength(length)]);
  return writeTable(["Ban", "lasts"], rows);
}

function ordinal(number: number, last: number): string {
  const suffix = { 1: "st", 2: "nd", 3: "rd" }[number] ?? "th";
  return `${number}${suffix}${number === last ? " and further" : ""}`;
}

/** A command that makes one call more than `limit` allows, and counts the answers by status. */
export function exceedingSample({ url }: SampleCall, limit: number): string {
  return joinLines([
    `curl -s -o /dev/null -w "%{http_code}\\n" ${authorization}`,
    `"${url}?pageSize=1&n=[1-${limit + 1}]" | sort | uniq -c`,
  ]);
}

/** An answer with status 429. */
interface RefusalExample {
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
  const { resetAtSeconds, resetAfterSeconds } = decision.shown;
  return {
    answer: writeAnswer(decision, requestId),
    limit,
    waitSeconds: resetAfterSeconds,
    resetSeconds: resetAtSeconds,
    resetTime: new Date(resetAtSeconds * 1_000).toISOString().slice(11, 19),
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
