/** How much time of the processor a case may take, in milliseconds: its inputs are 64 KiB at most. */
export const maxCaseMs = 50;

/** Throws unless something takes no longer than a case may, the fastest of three times. */
export async function expectQuick(run: () => unknown): Promise<void> {
  // The garbage collector, or a function that is compiled, can make it slow once, but not each time.
  const fastestMs = Math.min(await cpuMs(run), await cpuMs(run), await cpuMs(run));
  if (fastestMs > maxCaseMs) {
    throw new Error(`it takes ${Math.round(fastestMs)} ms`);
  }
}

/** Unlike the clock's time, the processor's is not made longer by what else runs on the machine. */
async function cpuMs(run: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
