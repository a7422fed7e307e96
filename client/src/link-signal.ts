/**
 * Returns a controller that aborts when the signal does, with the same reason. The caller must abort it at the end, so
 * that the signal drops its listener. `AbortSignal.any` is missing in Node before 20.3.
 */
export function linkSignal(signal: AbortSignal | undefined): AbortController {
  const linked = new AbortController();
  if (signal === undefined) {
    return linked;
  }
  const abort = () => linked.abort(signal.reason);
  if (signal.aborted) {
    abort();
  } else {
    signal.addEventListener("abort", abort, { once: true, signal: linked.signal });
  }
  return linked;
}
