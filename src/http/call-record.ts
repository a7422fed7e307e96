/**
 * What is known of a call, noted by whoever learns it on the call's way. It is read when the call has ended, and holds
 * nothing that must not be written down.
 */
export class CallRecord {
  /** The protocol that answers, such as `rest` or `grpc`; `http` for what is answered outside of any. */
  protocol = "http";
  /** The RPC as `package.Service/Method`, or a name for all pages; undefined for a request that leads to neither. */
  method: string | undefined = undefined;
  /** What came of it: `OK`, or the code of the error. */
  code = "OK";
  /** Whether it lasts for as long as its client likes. */
  isStream = false;
  /** The id of whoever called, as far as it is known. */
  caller: string | undefined = undefined;
  /** The HTTP status; 0 until there is an answer. */
  status = 0;
  /** Whether the whole answer has been handed to the system. */
  isWhole = false;
  /** Whether its deadline passed while the client had yet to send the body. */
  isBodyLate = false;
  /** The size of the body that was read, in bytes, as it came. */
  requestBytes = 0;
  /** The size of the body that was sent, in bytes. */
  responseBytes = 0;
  /**
   * When the head of the request was in, by `performance.now()`; for one that has waited for others of its connection,
   * when its turn came.
   */
  readonly startedAtMs = performance.now();
  /** How long it took, in milliseconds; known when it has ended. */
  durationMs = 0;
}
