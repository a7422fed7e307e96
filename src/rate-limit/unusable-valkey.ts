/** The server that is to count the limits can never do so, however long one waits. */
export class UnusableValkeyError extends Error {
  override readonly name = "UnusableValkeyError";
}
