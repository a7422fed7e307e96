const units = [
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** How long so many seconds are, as people say it: in the two largest units that they have. */
export function writeWait(seconds) {
  const first = units.findIndex(([length]) => seconds >= length * 2 || length === 1);
  let left = seconds;
  const parts = units.slice(first, first + 2).flatMap(([length, unit]) => {
    const count = Math.floor(left / length);
    left %= length;
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? "" : "s"}`];
  });
  return parts.join(" ") || "0 seconds";
}

/** When so many seconds will be over, on the reader's clock; with the day, where it is another one. */
export function writeMoment(seconds) {
  const moment = new Date(Date.now() + seconds * 1_000);
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? moment.toLocaleTimeString() : moment.toLocaleString();
}
