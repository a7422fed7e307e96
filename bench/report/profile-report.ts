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

const bounds = `What bounds the ratios, what was tried, and what would raise them
([docs/decisions.md](../docs/decisions.md) has the trials with their figures):

- *Updates over REST, and over Connect in JSON*: two threads, the load and the system's own work share two cores. The
  main thread is the bound: it runs most of the time, and waits for a core for much of the rest. A third of its time
  is the system's writing to sockets, one call an answer, which every contender pays; so the cheaper system calls are,
  the closer are the peers. The writing thread syncs each group to the disk, which the peers do not. Tried without a
  gain: other priorities, larger groups, the collector's and the compiler's flags. A third core would raise the
  ratios, and so would one system call for many sockets, which Node does not offer.
- *Single reads against the bare server*: what is left beside the server's two system calls is the work itself: the key, two
  windows, the route, the headers of the limits, the record of the call.
- *The list of 50,759 pets*: the server of ready bytes does little but have the system copy 2.6 MB for each answer, and
  takes nine tenths of the service's CPU. So these ratios follow how fast the machine copies memory. The service writes
  the list in pieces of up to 1 MiB, between which other calls run: 6 system calls an answer, where the ready bytes take
  2 or 3.
- *Batches over 64 connections*: single updates share commits there, too, so a batch saves requests and no syncs. What is
  left is some 4 µs of the writing thread for each change, most of them in SQLite. Blocks of changes in one row of the
  history would raise it, and would give up reading the history by SQL.
- *PostgreSQL*: its own work is more than a third of an update's CPU, on the same two cores as the server and the load.
  Cores of its own would raise the ratio. Half a core stays idle: groups are written one after the other; to send one
  before the last one is answered brings 4 %.
- *Reads while others update*: the bare server beside the service slows down as well, because it waits for one of two
  cores; that part has nothing to do with updates. The rest is bursts: clients that wait for a slow disk are answered in
  a row, and ask again at once.`;
