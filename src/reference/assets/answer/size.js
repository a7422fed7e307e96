/** Writes a number of bytes for people. */
export function writeSize(bytes) {
  if (bytes < 1_000) {
    return `${bytes} B`;
  }
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
