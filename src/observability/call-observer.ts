import type { CallRecord } from "../http/call-record.ts";

/** A call that has ended: it was answered, or its client has gone away. */
export interface EndedCall {
  readonly record: CallRecord;
  readonly requestId: string;
  /** The path as the client sent it, without its query; undefined for what is no HTTP. To be shown by `shownPath`. */
  readonly path: string | undefined;
  readonly clientAddress: string;
}

/** Is told of every call of every protocol once, when it has ended. It must not throw. */
export interface CallObserver {
  ended(call: EndedCall): void;
}

/** Notes how long a call took, and tells several observers, one after the other. */
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
