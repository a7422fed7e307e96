/**
 * What is recorded about a call while it is handled. Observers read it when the call has ended. It contains no secrets.
 */
export class CallRecord {
  /** The protocol that answers, such as `rest` or `grpc`; `http` outside of any call. */
  protocol = "http";
  /** The RPC as `package.Service/Method`, or one name for all pages; undefined for any other request. */
  method: string | undefined = undefined;
  /** `OK`, or the code of the error. */
  code = "OK";
  /** Whether it is a stream, which lasts for as long as its client likes. */
  isStream = false;
  /** Whether the server has ended the stream because it stops. */
  isStopped = false;
  /** The id of the caller's key, if there is a valid one. */
  keyId: string | undefined = undefined;
  /** The HTTP status; 0 until there is an answer. */
  status = 0;
  /** Whether the whole answer has been given to the connection. */
  isWhole = false;
  /** Whether its deadline passed while the body was still arriving. */
  isBodyLate = false;
  /** The size of the request body as it arrived, in bytes. */
  requestBytes = 0;
  /** The size of the response body, in bytes. */
  responseBytes = 0;
  /**
   * When the head of the request was parsed, by `performance.now()`. Over HTTP/1.1, a request may wait for earlier ones
   * of its connection before it is parsed.
   */
  readonly startedAtMs = performance.now();
  /** How long it took, in milliseconds; 0 until it has ended. */
  durationMs = 0;
}
