import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeViolation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** The rules about colours. */
export const colourRules = ["color-contrast", "link-in-text-block"];

/** The accessibility faults that axe finds in a page, or in a part of it, one per line. By default by all its rules. */
export async function axeFaults(page: Page, selector = "html", rules?: readonly string[]): Promise<string[]> {
  const options = JSON.stringify({ resultTypes: ["violations"], ...(rules !== undefined && { runOnly: rules }) });
  await page.evaluate(source);
  const { violations } = (await page.evaluate(`axe.run("${selector}", ${options})`)) as {
    violations: readonly AxeViolation[];
  };
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** The same of an operation. Removes the others from the page, and the guides' code: axe reads those, too, and takes seconds. */
export async function axeFaultsOf(page: Page, id: string): Promise<string[]> {
  await page.evaluate(
    `document.querySelectorAll(".operation:not(#${id}), .guide .code, .cards").forEach((part) => part.remove())`,
  );
  return axeFaults(page, `#${id}`);
}
