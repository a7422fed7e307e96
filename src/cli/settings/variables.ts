import { printable } from "../print/terminal.ts";
import { settingKeys } from "./resolve.ts";
import { variableOf } from "./settings.ts";

/** The variables that the service reads. */
const known = [...settingKeys.map(variableOf), "PETSTORE_CONFIG", "PETSTORE_COPY_FROM", "PETSTORE_COPY_TO"];

/** The variables of the client samples and of the tests. */
const others = /^PETSTORE_(API_KEY$|TEST_)/;

/**
 * The variables that Kubernetes sets in every pod for a Service whose name begins with `petstore`, and that Docker sets
 * for a link.
 *
 * Source: https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const serviceLinks = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

/** Removes the empty `PETSTORE_…` variables: an empty value in a container's settings means that it is not set. */
export function dropEmptyVariables(env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("PETSTORE_") && value === "") {
      delete env[name];
    }
  }
}

/** A line that names the `PETSTORE_…` variables that the service does not know. Undefined when there are none. */
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

/** The known variable that differs by one or two typing errors, but by no more than half of the name. */
function nearestOf(name: string): string | undefined {
  const maxDistance = Math.min(2, (name.length - "PETSTORE_".length) / 2);
  const [nearest] = known
    .map((each) => ({ each, distance: levenshtein(name, each) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.each;
}

/** The Levenshtein distance: the number of characters to insert, remove or replace. Computed row by row. */
function levenshtein(from: string, to: string): number {
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
