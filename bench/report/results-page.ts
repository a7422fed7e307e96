import type { Plan } from "../measure.ts";

/** What `RESULTS.md` is made of. */
export interface Results {
  readonly plan: Plan;
  /** Markdown, as are the reports. */
  readonly machine: string;
  readonly remarks: readonly string[];
  readonly reports: readonly string[];
}

/** The page of a run's results. */
export function resultsPage({ plan, machine, remarks, reports }: Results): string {
  const { rounds, roundSeconds, warmUpSeconds, longRoundSeconds } = plan;
  return `${[
    "# Results",
    `Measured on ${new Date().toISOString().slice(0, 10)}: ${rounds} rounds of ${roundSeconds} s, after ${warmUpSeconds} s of warm-up; a long round has ${longRoundSeconds} s. ${again}`,
    machine,
    ...remarks,
    method,
    ...reports,
  ].join("\n\n")}\n`;
}

const again = `In each round the contenders take turns, every other round in reverse order; the figures are medians over
the rounds. [README.md](README.md) says how to run it again, and how the contenders are made.`;

const method = `All contenders serve the same pets, from copies of one SQLite file that \`petstore import\` made. All but the bare servers
check the bearer key by its SHA-256 in that file, count two windows (Fastify: the one of \`@fastify/rate-limit\`) and send
the limit headers. Each update sets another quantity, and is one commit in the peers, which write no history. After each
run the bench reads the file to verify that the updates are in it, and in the service's history too.

- *ratio*: the median of the rounds' own ratios, with the least and the greatest of them. What disturbs the machine for a
  whole round changes both figures of a ratio. It is the service's figure divided by the peer's, unless the first column
  names another contender.
- *CPU µs/request*: the user and system time of the server and its children, all threads together, divided by the
  requests it answered. *CPU ratio* is the ratio of these. Less is better. *PostgreSQL's* and *Valkey's* are the same of
  all their processes, and are not in it.
- *system calls/request*: of all threads, counted by \`strace\` in a run of its own, which it slows down: then more
  requests may share a call than in the other runs, or fewer.
- *allocated B/request*: on V8's heaps, of all threads, in a run of its own. Servers that are not on Node have none.
- *changes/s*: requests/s times the changes that one request makes: 100 in a batch of 100, and 1 in all others.
- *after 10,000,000 changes*: the same load on a store of the same pets whose history has so many changes.
- Each idempotency key is used once; \`:adjust\` adds 1; *page of 20* is \`GET /v1/inventory?pageSize=20\`.
- *Tail*: requests are due at a fixed rate, and a latency counts from the time at which its request was due. So a server
  that stalls pays for all requests of that time (no coordinated omission). *late p99* is how late the generator itself
  sent them, which is part of the latencies. *longest GC* is the longest pause of a Node server's main thread for V8's
  collector, over all rounds.
- *load's core*: how much of one core the load generator used. Near 100 % the figures measure the generator.
- gRPC's load comes from a generator of the bench (\`bench/load/h2.ts\`), since \`h2load\` sends the same body each time; so
  does the load at a fixed rate (\`bench/load/open-loop.ts\`). All other load comes from \`wrk\`, with one thread
  for each server.`;
