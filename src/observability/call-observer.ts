import type { CallRecord } from "../http/call-record.ts";

/** A call that has ended: it was answered, or its client went away. */
export interface EndedCall {
  readonly record: CallRecord;
  readonly requestId: string;
  /** The path as the client sent it, without its query; undefined if it was no HTTP. Show it by `shownPath`. */
  readonly path: string | undefined;
  readonly clientAddress: string;
}

/** Is told once of each call of every protocol, when it has ended. It must not throw. */
export interface CallObserver {
  ended(call: EndedCall): void;
}

/** Records how long a call took, and tells several observers, one after the other. */
export function createCallObserver(observers: readonly CallObserver[]): CallObserver {
  return {
    ended(call) {
      const { record } = call;
      record.durationMs = performance.now() - record.startedAtMs;
      for (const observer of observers) {
        observer.ended(call);
      }
    },
  };
}
