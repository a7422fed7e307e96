import type { Contender } from "../contender.ts";
import type { Target } from "../scenario.ts";

/** At least so many times the requests a second of another contender. */
export function atLeast(ratio: number, { name }: Contender): Target {
  return { against: name, metric: "requestsPerSecond", atLeast: ratio };
}

/** At most so much of another contender's CPU time for a request. */
export function cpuAtMost(ratio: number, { name }: Contender): Target {
  return { against: name, metric: "cpuUsPerRequest", atMost: ratio };
}

/** Against a contender that sets no target: the ratio is only reported. */
export function compared({ name }: Contender): Target {
  return { against: name, metric: "requestsPerSecond" };
}
