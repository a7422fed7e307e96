/** How much time of the processor a case may take, in milliseconds: its inputs are 64 KiB at most. */
export const maxCaseMs = 50;

/** Throws unless something takes no longer than a case may. */
export async function expectQuick(run: () => unknown): Promise<void> {
  const fastestMs = await leastCpuMs(run);
  if (fastestMs > maxCaseMs) {
    throw new Error(`it takes ${Math.round(fastestMs)} ms`);
  }
}

/**
 * The time of the processor that something takes, in milliseconds, the fastest of three times: the garbage collector,
 * or a function that is compiled, can make it slow once, but not each time.
 */
export async function leastCpuMs(run: () => unknown): Promise<number> {
  return Math.min(await cpuMs(run), await cpuMs(run), await cpuMs(run));
}

/** Unlike the clock's time, the processor's is not made longer by what else runs on the machine. */
async function cpuMs(run: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
