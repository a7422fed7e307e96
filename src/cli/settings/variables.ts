import { printable } from "../print/printable.ts";
import { variableOf } from "./option.ts";
import { settingKeys } from "./resolve.ts";

/** The variables that the service reads. */
const known = [...settingKeys.map(variableOf), "PETSTORE_CONFIG"];

/** Those of our clients' samples, and of our tests. */
const others = /^PETSTORE_(API_KEY$|TEST_)/;

/**
 * Those that Kubernetes sets in every pod for a Service whose name begins with `petstore`, and Docker for a link.
 *
 * Source: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const serviceLinks = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

/** A line that names the `PETSTORE_…` variables of which nothing is known. Undefined when there are none. */
export function describeUnknownVariables(env: NodeJS.ProcessEnv): string | undefined {
  const unknown = Object.entries(env).filter(([name, value = ""]) => isUnknown(name, value));
  const named = unknown.map(([name]) => {
    const meant = nearestOf(name);
    return printable(name) + (meant === undefined ? "" : ` (did you mean ${meant}?)`);
  });
  return named.length === 0 ? undefined : `no setting has the variable ${named.join(", ")}`;
}

function isUnknown(name: string, value: string): boolean {
  const isOurs = name.startsWith("PETSTORE_") && !known.includes(name) && !others.test(name);
  return isOurs && !serviceLinks.test(name) && !serviceAddress.test(value);
}

/** The variable whose name is a slip or two away: not so many that half of what tells the names apart is another. */
function nearestOf(name: string): string | undefined {
  const most = Math.min(2, (name.length - "PETSTORE_".length) / 2);
  const [nearest] = known
    .map((each) => ({ each, slips: slipsBetween(name, each) }))
    .filter(({ slips }) => slips <= most)
    .toSorted((a, b) => a.slips - b.slips);
  return nearest?.each;
}

/** How many characters to insert, remove or replace: the Levenshtein distance, found row by row. */
function slipsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of Array.from(from).entries()) {
    const next = [index + 1];
    for (const [at, other] of Array.from(to).entries()) {
      const replaced = (row[at] as number) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] as number) + 1, (next[at] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
