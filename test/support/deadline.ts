import { setTimeout } from "node:timers/promises";

/** Tries again and again until the condition holds. Throws past the deadline. */
export async function until(condition: () => Promise<boolean>, deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`not so within ${deadlineMs} ms`);
    }
    await setTimeout(pollIntervalMs);
  }
}

/** Short beside any deadline, and long enough not to use up a key's quota. */
const pollIntervalMs = 20;
