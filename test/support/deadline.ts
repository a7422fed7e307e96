import { setTimeout } from "node:timers/promises";

/** Waits until a condition holds. Throws after the deadline. */
export async function until(condition: () => Promise<boolean>, deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) {
      throw new Error(`not so within ${deadlineMs} ms`);
    }
    await setTimeout(pollIntervalMs);
  }
}

/** Short compared with the deadlines, but long enough not to use up a key's quota. */
const pollIntervalMs = 20;
