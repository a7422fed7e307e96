let dateText = "";
let dateMs = 0;

/** The time in the format of HTTP. The text is made once a second. Source: RFC 9110, section 5.6.7 */
export function httpDate(): string {
  const nowMs = Date.now();
  if (nowMs - dateMs >= 1_000 || nowMs < dateMs) {
    dateMs = nowMs - (nowMs % 1_000);
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}
