const units = [
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** Writes a number of seconds for people, in its two largest units. */
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

/** The time of day in a number of seconds, with the date if that is not today. */
export function writeMoment(seconds) {
  return writeTime(new Date(Date.now() + seconds * 1_000));
}

/** A time of day, with the date if that is not today. */
export function writeTime(moment) {
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? moment.toLocaleTimeString() : moment.toLocaleString();
}
