/** Why a store was not copied. The message is one line for the operator, without any password. */
export class CopyError extends Error {
  override readonly name = "CopyError";
}
