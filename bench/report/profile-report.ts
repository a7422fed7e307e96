import type { Costs, Profile } from "../profile.ts";
import { table } from "./markdown-table.ts";

/** Where the service's time goes and what bounds the ratios, as Markdown. */
export function reportProfiles(profiles: readonly Profile[]): string {
  return [title, costsTable(profiles), bounds].join("\n\n");
}

const title = `## Where the service's time goes

By V8's profiler, which slows the service down; its own use is left out. The threads' time is the kernel's account.`;

function costsTable(profiles: readonly Profile[]): string {
  const users = Object.keys(profiles[0]?.costs ?? {}) as (keyof Costs)[];
  const rows = users.map((user) => [user, ...profiles.map(({ costs }) => costs[user].toFixed(1))]);
  return table(["CPU µs/request", ...profiles.map(({ name }) => name)], rows);
}

const bounds = `What bounds the ratios:

- *To the bare servers*: they make two system calls for a request and nothing else. The service also commits the update,
  on a thread that shares two cores with the main thread, the load and the garbage collector; its own code and its
  packages add to that. A third core would raise the ratio, and so would fewer system calls: Node reads and writes each
  connection by itself.
- *To \`connectNodeAdapter\` over gRPC*: Node's own HTTP/2, in JavaScript and C++, takes more time than the service does,
  and both contenders pay for it. Another implementation of HTTP/2 would raise the ratio.
- *Reads while others update*: the bare server beside the service slows down as well, because it waits for one of two
  cores; that part has nothing to do with updates. The rest is bursts: clients that wait for a slow disk are answered in
  a row, and ask again at once.`;
