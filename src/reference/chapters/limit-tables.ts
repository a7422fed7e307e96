import { type Ban, imposeBan } from "../../domain/ban.ts";
import { planQuotas, plans } from "../../domain/key.ts";
import { decide } from "../../domain/limits.ts";
import { noUsage } from "../../domain/usage.ts";
import type { OpenApiDocument } from "../openapi/view.ts";
import { writeLength, writeNumber } from "./amounts.ts";

/** The plans and their quotas, as a Markdown table. */
export function planTable(): string {
  const quotas: Readonly<Partial<Record<string, { perMinute: number; perDay: number }>>> = planQuotas;
  const rows = plans.map((plan) => {
    const quota = quotas[plan];
    const numbers = quota === undefined ? ["custom", "custom"] : [quota.perMinute, quota.perDay].map(writeNumber);
    return `| ${plan[0]?.toUpperCase()}${plan.slice(1)} | ${numbers.join(" | ")} |`;
  });
  return ["| Plan | Requests a minute | Requests a day |", "| --- | ---: | ---: |", ...rows].join("\n");
}

/** The headers of a refusal that describe the limits, as a Markdown table. */
export function limitHeaderTable({ components }: OpenApiDocument): string {
  const names = Object.keys(components.responses.TooManyRequests?.headers ?? {});
  const rows = names
    .filter((name) => /RateLimit|^Retry-After$/.test(name))
    .map((name) => `| \`${name}\` | ${components.headers[name]?.description} |`);
  return ["| Header | Meaning |", "| --- | --- |", ...rows].join("\n");
}

/** The length of each ban, as a Markdown table. The rule itself is run until the bans grow no longer. */
export function banTable(): string {
  const lengths = banLengthsMs();
  const rows = lengths.map((length, i) => `| ${ordinal(i + 1, lengths.length)} | ${writeLength(length)} |`);
  return ["| Ban | lasts |", "| --- | --- |", ...rows].join("\n");
}

/** The smallest number of refusals that bans a key. The rule itself is run with the smallest quota. */
export function fewestRefusals(): number {
  const allowance = { quota: { perMinute: 1, perDay: 1 }, unbans: 0 };
  let { usage, outcome } = decide(noUsage, allowance, 0);
  let refusals = 0;
  while (outcome !== "banned") {
    ({ usage, outcome } = decide(usage, allowance, 0));
    refusals += 1;
  }
  return refusals;
}

function banLengthsMs(): number[] {
  const lengths: number[] = [];
  let ban: Ban | undefined;
  for (;;) {
    const nowMs: number = ban?.endsAtMs ?? 0;
    ban = imposeBan(ban, nowMs);
    const length = ban.endsAtMs - nowMs;
    if (length === lengths.at(-1)) {
      return lengths;
    }
    lengths.push(length);
  }
}

function ordinal(number: number, last: number): string {
  const suffix = { 1: "st", 2: "nd", 3: "rd" }[number] ?? "th";
  return `${number}${suffix}${number === last ? " and further" : ""}`;
}
