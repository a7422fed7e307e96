import { type Ban, imposeBan } from "../../domain/ban.ts";
import { decide, noUsage } from "../../domain/limits.ts";

/** How long each ban lasts, as a Markdown table: asked of the rule itself, until it grows no longer. */
export function banTable(): string {
  const lengths = banLengthsMs();
  const rows = lengths.map((length, i) => `| ${ordinal(i + 1, lengths.length)} | ${writeLength(length)} |`);
  return ["| Ban | lasts |", "| --- | --- |", ...rows].join("\n");
}

/** How many refusals ban a key at least: asked of the rule itself, with the smallest quota. */
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

function writeLength(ms: number): string {
  const minutes = ms / 60_000;
  const [count, unit] = minutes < 60 ? [minutes, "minute"] : [minutes / 60, "hour"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
