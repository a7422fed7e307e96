import type { Plan } from "./measure.ts";

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
  const { rounds, roundSeconds, warmUpSeconds } = plan;
  return `${[
    "# Results",
    `Measured on ${new Date().toISOString().slice(0, 10)}: ${rounds} rounds of ${roundSeconds} s, after ${warmUpSeconds} s of warm-up. ${again}`,
    machine,
    ...remarks,
    method,
    ...reports,
  ].join("\n\n")}\n`;
}

const again = `In each round the contenders take turns, and the figures are medians
over the rounds. To run it again: \`npm run bench\`, or \`npm run bench -- --quick\` for less than two minutes. It wants
Linux with \`wrk\` (\`apt-get install wrk\`), and gcc for the slow disk.`;

const method = `All contenders have the same pets, in copies of one SQLite file that \`petstore import\` made. All but the bare ones
check the bearer key by its SHA-256 in that file, count two windows (Fastify: the one of \`@fastify/rate-limit\`) and send
the limits' headers. Each update sets another quantity, and is one commit in the peers; after each run the bench sees
for itself that the updates stand in the file.

- *CPU µs/request*: the server's user and system time, all threads together, over the requests it answered.
- *CPU ratio*: the service's CPU µs/request over the peer's. Less is better.
- *load's core*: how much of one core the load generator took. Near 100 % it is the generator that is measured.
- gRPC's load is a generator of the bench (\`bench/load/h2.ts\`), since \`h2load\` sends the same body each time; all other
  load is \`wrk\`'s, on one thread.`;
