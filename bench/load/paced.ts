/**
 * A moderate load at a fixed rate: `GET /v1/pets/{petId}`, 400 a second, whether or not earlier ones are answered.
 *
 *     node bench/load/paced.ts ORDER
 */
import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { Latencies } from "./latencies.ts";
import type { LoadOrder } from "./load.ts";
import { printResult } from "./result.ts";

const intervalMs = 2.5;

const { origin, key, seconds, idsFile } = JSON.parse(process.argv[2] ?? "") as LoadOrder;
const ids = readFileSync(idsFile, "utf8").trim().split("\n");
const agent = new Agent({ keepAlive: true });
const latencies = new Latencies();
let sent = 0;
let failures = 0;

function send(): Promise<void> {
  const id = ids[sent++ % ids.length];
  const { promise, resolve } = Promise.withResolvers<void>();
  const sentAtMs = performance.now();
  const request = get(`${origin}/v1/pets/${id}`, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
    response.resume().on("end", () => {
      latencies.add((performance.now() - sentAtMs) * 1000);
      failures += response.statusCode === 200 ? 0 : 1;
      resolve();
    });
  });
  request.on("error", () => {
    failures += 1;
    resolve();
  });
  return promise;
}

const startedAtMs = performance.now();
const running: Promise<void>[] = [];
const { promise: over, resolve: end } = Promise.withResolvers<void>();
const timer = setInterval(() => {
  const elapsedMs = performance.now() - startedAtMs;
  while (sent * intervalMs < elapsedMs) {
    running.push(send());
  }
  if (elapsedMs > seconds * 1000) {
    clearInterval(timer);
    end();
  }
}, 1);
await over;
await Promise.all(running);
printResult(latencies, failures, startedAtMs);
agent.destroy();
