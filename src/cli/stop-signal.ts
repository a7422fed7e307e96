import type { RunningServer } from "../server/server.ts";

// A terminal's Ctrl-C reaches both npm and us, and npm passes it on: the same signal twice, a moment apart.
const sameSignalMs = 500;

const exitCodes = { SIGINT: 130, SIGTERM: 143 };

type StopSignal = keyof typeof exitCodes;

/** Waits for SIGTERM or SIGINT, and then for the server to stop. A second signal ends the process at once. */
export async function untilStopped(running: RunningServer): Promise<void> {
  await firstSignal();
  await running.stop();
}

function firstSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let firstAtMs: number | undefined;
  const take = (signal: StopSignal): void => {
    const nowMs = performance.now();
    firstAtMs ??= nowMs;
    if (nowMs - firstAtMs > sameSignalMs) {
      process.exit(exitCodes[signal]);
    }
    resolve();
  };
  for (const signal of Object.keys(exitCodes) as StopSignal[]) {
    process.on(signal, take);
  }
  return promise;
}
