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

const again = `In each round the contenders take turns; the figures are medians over the
rounds. To run it again: \`npm run bench\`, or \`npm run bench -- --quick\` for less than four minutes. It needs Linux with
\`wrk\` (\`apt-get install wrk\`), and gcc for the slow disk.`;

const method = `All contenders serve the same pets, from copies of one SQLite file that \`petstore import\` made. All but the bare servers
check the bearer key by its SHA-256 in that file, count two windows (Fastify: the one of \`@fastify/rate-limit\`) and send
the limit headers. Each update sets another quantity, and is one commit in the peers, which write no history. After each
run the bench reads the file to verify that the updates are in it, and in the service's history too.

- *CPU µs/request*: the server's user and system time, all threads together, divided by the requests it answered.
- *CPU ratio*: the service's CPU µs/request divided by the peer's. Less is better.
- *changes/s*: requests/s times the changes that one request makes: 100 in a batch of 100, and 1 in all others.
- *after 10,000,000 changes*: the same load on a store of the same pets whose history has so many changes. It is prepared
  by SQL, and kept below the folder for temporary files (1 GB).
- Each idempotency key is used once; \`:adjust\` adds 1; *page of 20* is \`GET /v1/inventory?pageSize=20\`.
- *load's core*: how much of one core the load generator used. Near 100 % the figures measure the generator.
- gRPC's load comes from a generator of the bench (\`bench/load/h2.ts\`), since \`h2load\` sends the same body each time.
  All other load comes from \`wrk\`, on one thread.`;
