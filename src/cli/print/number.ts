/** Writes a count for people, such as `1,000`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** Writes a number of bytes for people, such as `12.3 MiB`. */
export function formatByteSize(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1);
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1_024 ** power).toFixed(1)} ${units[power]}`;
}
