import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Which of axe's rules a page is held to: of colours, which take it longest, or of all else. */
export type AxeRules = "all" | "colours" | "all but colours";

const options: Readonly<Record<AxeRules, object>> = {
  all: {},
  colours: { runOnly: ["color-contrast"] },
  "all but colours": { rules: { "color-contrast": { enabled: false } } },
};

/** What axe finds seriously wrong with a page for those who do not see it, or use no mouse: one line a fault. */
export async function seriousFaults(page: Page, rules: AxeRules): Promise<string[]> {
  await page.evaluate(source);
  const run = `axe.run(${JSON.stringify({ ...options[rules], resultTypes: ["violations"] })})`;
  const { violations } = (await page.evaluate(run)) as { violations: readonly AxeViolation[] };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
