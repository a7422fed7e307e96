import { noUsage, type Usage, type Window } from "../../domain/usage.ts";

/** What a script has found, and when. */
export interface Reply<State> {
  /** By Valkey's clock, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** As it stood before the script charged anything. */
  readonly before: State;
}

/** Reads the reply of `chargeKey`. */
export function parseUsageReply(text: string): Reply<Usage> {
  const [nowMs = 0, ...numbers] = numbersOf(text);
  if (numbers.length === 0) {
    return { nowMs, before: noUsage };
  }
  const [minuteAt, minutes, dayAt, days, refusalsAt, refusals, step = 0, endsAtMs = 0, unbans = 0] = numbers;
  return {
    nowMs,
    before: {
      minute: toWindow(minuteAt, minutes),
      day: toWindow(dayAt, days),
      refusals: toWindow(refusalsAt, refusals),
      ban: step === 0 ? undefined : { step, endsAtMs },
      unbans,
    },
  };
}

/** Reads the reply of `chargeNetwork`. */
export function parseWindowReply(text: string): Reply<Window | undefined> {
  const [nowMs = 0, openedAtMs, count] = numbersOf(text);
  return { nowMs, before: toWindow(openedAtMs, count) };
}

/** A window without a count is none. */
function toWindow(openedAtMs = 0, count = 0): Window | undefined {
  return count === 0 ? undefined : { openedAtMs, count };
}

function numbersOf(text: string): number[] {
  return text.trimEnd().split(" ").map(Number);
}
