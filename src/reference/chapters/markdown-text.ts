/** A table in Markdown. `rule` is its second line, which aligns the columns. */
export function writeTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rule: readonly string[] = head.map(() => "---"),
): string {
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A number with a comma between thousands. `toLocaleString` would load the data of all languages. */
export function writeNumber(value: number): string {
  return String(value).replace(/(?<=\d)(?=(?:\d{3})+$)/g, ",");
}

/** The units, and the shortest length that each one writes. One day is written as 24 hours. */
const units = [
  { name: "day", ms: 86_400_000, fromMs: 172_800_000 },
  { name: "hour", ms: 3_600_000, fromMs: 3_600_000 },
  { name: "minute", ms: 60_000, fromMs: 60_000 },
];

/** A length of time, such as `15 minutes`. Its unit is the largest one that leaves no remainder. */
export function writeLength(lengthMs: number): string {
  const fitting = units.find(({ ms, fromMs }) => lengthMs >= fromMs && lengthMs % ms === 0);
  const { name, ms } = fitting ?? { name: "second", ms: 1_000 };
  const count = lengthMs / ms;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
