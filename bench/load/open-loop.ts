/**
 * Load over HTTP/1.1 at a fixed rate, whether or not earlier requests are answered. A latency counts from the time at
 * which the request was due, so it includes the wait for a connection behind a server that stalls: there is no
 * coordinated omission.
 *
 *     node bench/load/open-loop.ts ORDER
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { Http1Connection } from "./http1-connection.ts";
import { Latencies } from "./latencies.ts";
import type { LoadOrder } from "./load.ts";
import { printResult } from "./result.ts";
import { countDue, dueMs, type Schedule } from "./schedule.ts";

/** What the generator needs beside its order. */
export interface OpenLoopOptions {
  readonly kind: "patch" | "read";
  readonly ratePerSecond: number;
}

const connectionCount = 128;

/** How long late answers are waited for, after the last request was due. */
const graceMs = 10_000;

/** The latencies of the first requests are not counted: the generator itself is still slow. */
const leadInMs = 500;

const order = JSON.parse(process.argv[2] ?? "") as LoadOrder & OpenLoopOptions;
const ids = readFileSync(order.idsFile, "utf8").trim().split("\n");
const schedule: Schedule = { ratePerSecond: order.ratePerSecond, ticksPerSecond: 2000 };
const total = countDue(schedule, order.seconds * 1000);
const fixed = `Host: ${new URL(order.origin).host}\r\nAuthorization: Bearer ${order.key}\r\n`;
const latencies = new Latencies();
const lateness = new Latencies();
let startedAtMs = NaN;
let sent = 0;
let answered = 0;
let failures = 0;

const { promise: over, resolve: end } = Promise.withResolvers<void>();
const connections = Array.from({ length: connectionCount }, () => new Http1Connection(order.origin, end));
const idle = [...connections];
await Promise.race([Promise.all(connections.map(({ opened }) => opened)), over]);
const ticker = new Worker(new URL("ticker.ts", import.meta.url), { workerData: schedule });
await once(ticker, "message");
startedAtMs = performance.now();
ticker.on("message", sendDue);
const deadline = setTimeout(end, order.seconds * 1000 + graceMs);
await over;

clearTimeout(deadline);
await ticker.terminate();
for (const connection of connections) {
  connection.close();
}
const tail = { p999Us: latencies.percentile(0.999), lateP99Us: lateness.percentile(0.99) };
printResult({ requests: answered, failures: failures + total - answered, latencies, startedAtMs, tail });

function sendDue(): void {
  const due = Math.min(total, countDue(schedule, performance.now() - startedAtMs));
  while (sent < due) {
    // Connections take turns, because servers close those that are idle for long.
    const connection = idle.shift();
    if (connection === undefined) {
      return;
    }
    send(connection, sent++);
  }
}

function send(connection: Http1Connection, number: number): void {
  const dueAtMs = dueMs(schedule, number);
  const isCounted = dueAtMs >= leadInMs;
  if (isCounted) {
    lateness.add(sinceUs(dueAtMs));
  }
  connection.send(requestOf(number), (status) => {
    if (isCounted) {
      latencies.add(sinceUs(dueAtMs));
    }
    answered += 1;
    failures += status === 200 ? 0 : 1;
    idle.push(connection);
    if (answered === total) {
      end();
    } else {
      sendDue();
    }
  });
}

/** How long ago a time of the schedule was. */
function sinceUs(ms: number): number {
  return (performance.now() - startedAtMs - ms) * 1000;
}

function requestOf(number: number): string {
  const path = `/v1/inventory/${ids[number % ids.length]}`;
  if (order.kind === "read") {
    return `GET ${path} HTTP/1.1\r\n${fixed}\r\n`;
  }
  const body = `{"quantity":${order.firstQuantity + number}}`;
  return `PATCH ${path} HTTP/1.1\r\n${fixed}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
