import type { Contender } from "../contender.ts";
import type { Target } from "../scenario.ts";

/** At least this multiple of another contender's requests a second. */
export function atLeast(ratio: number, { name }: Contender): Target {
  return { against: name, metric: "requestsPerSecond", atLeast: ratio };
}

/** At most this multiple of another contender's CPU time for a request. */
export function cpuAtMost(ratio: number, { name }: Contender): Target {
  return { against: name, metric: "cpuUsPerRequest", atMost: ratio };
}

/** Against a contender that sets no target: the ratio is only reported. */
export function compared({ name }: Contender): Target {
  return { against: name, metric: "requestsPerSecond" };
}
