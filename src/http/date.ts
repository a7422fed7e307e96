let text = "";
let madeAtMs = 0;

/** The time as HTTP writes it. It is made once a second. Source: RFC 9110, section 5.6.7 */
export function date(): string {
  const nowMs = Date.now();
  if (nowMs - madeAtMs >= 1_000 || nowMs < madeAtMs) {
    madeAtMs = nowMs - (nowMs % 1_000);
    text = new Date(nowMs).toUTCString();
  }
  return text;
}
