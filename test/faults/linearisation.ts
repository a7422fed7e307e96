/** A call, and when it began and ended. */
export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/** What a call does to a model. */
export type Step = (() => void) | "nothing" | undefined;

/** What is modelled, as it would be if calls came one after the other. */
export interface SequentialModel<Call> {
  /**
   * Makes a call, where its answer fits the present state. Returns the function that takes it back, `nothing` where the
   * call changes nothing, or undefined where its answer does not fit.
   */
  apply(call: Call): Step;
  /** Whatever of the state does not follow from which calls were made, whatever their order. */
  readonly remainder: string;
}

/** The beginning or the end of a call, in a list by time. */
interface Event<Call> {
  readonly call: Call;
  readonly index: number;
  /** Of a beginning. */
  readonly end: Event<Call> | undefined;
  previous: Event<Call> | undefined;
  next: Event<Call> | undefined;
}

/**
 * Looks for an order in which each call happens at one moment between its beginning and its end, and all answers fit
 * the model. Returns undefined where there is one, and then leaves the model after the last call; otherwise the call
 * at which the longest attempt has failed.
 *
 * It tries one call after the other of those that may come next, and goes back where none fits. It never tries the same
 * set of calls twice, and never goes back for a call that changes nothing: that one fits where it stands, and hinders
 * nobody.
 *
 * Source: Wing and Gong, Testing and Verifying Concurrent Objects, 1993; Lowe, Testing for linearizability, Concurrency
 * and Computation 29 (4), 2017
 */
export function findUnplaceable<Call extends Interval>(
  model: SequentialModel<Call>,
  calls: readonly Call[],
): Call | undefined {
  const events = new EventList(calls);
  const tried = new Set<string>();
  const made: { event: Event<Call>; step: Exclude<Step, undefined> }[] = [];
  let [longest, stuckAt]: [number, Call | undefined] = [-1, undefined];
  let event = events.first;
  while (event !== undefined) {
    const step = event.end === undefined ? undefined : model.apply(event.call);
    if (step !== undefined) {
      events.remove(event);
      const key = `${events.removed} ${model.remainder}`;
      if (!tried.has(key)) {
        tried.add(key);
        made.push({ event, step });
        event = events.first;
        continue;
      }
      events.restore(event);
      takeBack(step);
    }
    if (event.end !== undefined) {
      event = event.next;
      continue;
    }
    // A call has ended that fits nowhere before its end.
    if (made.length > longest) {
      [longest, stuckAt] = [made.length, event.call];
    }
    let last = made.pop();
    for (; last !== undefined; last = made.pop()) {
      events.restore(last.event);
      takeBack(last.step);
      if (last.step !== "nothing") {
        break;
      }
    }
    if (last === undefined) {
      return stuckAt;
    }
    event = last.event.next;
  }
  return undefined;
}

function takeBack(step: Exclude<Step, undefined>): void {
  if (step !== "nothing") {
    step();
  }
}

/** The beginnings and ends of the calls that have not been made yet, by time. */
class EventList<Call extends Interval> {
  readonly #head: Event<Call>;
  /** By index, 1 for a call that was made. */
  readonly #isMade: Uint8Array;
  #end = 0;

  constructor(calls: readonly Call[]) {
    this.#isMade = new Uint8Array(calls.length);
    const sorted = calls.toSorted((a, b) => a.startMs - b.startMs);
    const events = sorted.flatMap((call, index) => {
      const end: Event<Call> = { call, index, end: undefined, previous: undefined, next: undefined };
      const start: Event<Call> = { call, index, end, previous: undefined, next: undefined };
      return [
        { atMs: call.startMs, event: start },
        { atMs: call.endMs, event: end },
      ];
    });
    // Where one call ends as another one begins, either may have come first.
    events.sort((a, b) => a.atMs - b.atMs || Number(a.event.end === undefined) - Number(b.event.end === undefined));
    this.#head = { call: undefined as never, index: -1, end: undefined, previous: undefined, next: undefined };
    let previous = this.#head;
    for (const { event } of events) {
      [previous.next, event.previous] = [event, previous];
      previous = event;
    }
  }

  /** Always a beginning. Undefined when all calls were made. */
  get first(): Event<Call> | undefined {
    return this.#head.next;
  }

  /** Which calls were made, as a text: the number up to which all were, and which ones beyond. */
  get removed(): string {
    const first = this.first?.index ?? this.#isMade.length;
    return `${first} ${Buffer.from(this.#isMade.subarray(first, this.#end)).toString("latin1")}`;
  }

  remove(start: Event<Call>): void {
    this.#isMade[start.index] = 1;
    this.#end = Math.max(this.#end, start.index + 1);
    for (const event of [start, start.end as Event<Call>]) {
      (event.previous as Event<Call>).next = event.next;
      if (event.next !== undefined) {
        event.next.previous = event.previous;
      }
    }
  }

  /** Takes back the latest `remove`. */
  restore(start: Event<Call>): void {
    this.#isMade[start.index] = 0;
    while (this.#end > 0 && this.#isMade[this.#end - 1] === 0) {
      this.#end -= 1;
    }
    for (const event of [start.end as Event<Call>, start]) {
      (event.previous as Event<Call>).next = event;
      if (event.next !== undefined) {
        event.next.previous = event;
      }
    }
  }
}
