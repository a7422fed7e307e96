/** Why a database cannot be used as the store. The message is one line for the operator, without any password. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}
