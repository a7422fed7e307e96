import type { Costs, Profile } from "./profile.ts";
import { table } from "./report.ts";

/** Where the service's time goes, and what that means for the ratios, as Markdown. */
export function reportProfiles(profiles: readonly Profile[]): string {
  return [title, costsTable(profiles), bounds].join("\n\n");
}

const title = `## Where the service's time goes

By V8's profiler, which makes the service slower; what it uses itself is left out. The threads' time is the kernel's
account of it.`;

function costsTable(profiles: readonly Profile[]): string {
  const users = Object.keys(profiles[0]?.costs ?? {}) as (keyof Costs)[];
  const rows = users.map((user) => [user, ...profiles.map(({ costs }) => costs[user].toFixed(1))]);
  return table(["CPU µs/request", ...profiles.map(({ name }) => name)], rows);
}

const bounds = `What bounds the ratios:

- *To the bare servers*: an update is more than its two system calls, which are all that these do. It has to be committed,
  by a thread that shares two cores with the main one, with the load and with the collector; and the service's code and
  its packages come on top. A third core would lift it; so would fewer system calls, for Node reads and writes each
  connection by itself.
- *To \`connectNodeAdapter\` over gRPC*: Node's own HTTP/2, in JavaScript and in C++, takes more than the service does, and
  both contenders pay for it. Another implementation of HTTP/2 would lift it.
- *Reads while others update*: of what they lose, the bare server that stands beside loses a part as well, and that has
  nothing to do with the updates: it has to wait for one of the two cores. The rest is bursts: those who
  wait for a slow disk are answered in a row, and ask again at once.`;
