import { planQuotas, plans } from "../../domain/plan.ts";

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

/** With a comma between thousands. `toLocaleString` would load all that it knows of all languages for it. */
function writeNumber(value: number): string {
  return String(value).replace(/(?<=\d)(?=(?:\d{3})+$)/g, ",");
}
