/** Machine-readable codes of the errors that clients see. A code never changes its meaning. */
export type ErrorCode =
  | "INVALID_REQUEST"
  | "INVALID_PAGE_TOKEN"
  | "API_KEY_MISSING"
  | "API_KEY_INVALID"
  | "API_KEY_EXPIRED"
  | "API_KEY_REVOKED"
  | "SCOPE_MISSING"
  | "PET_NOT_FOUND"
  | "ROUTE_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "BODY_TOO_LARGE"
  | "MEDIA_TYPE_UNSUPPORTED"
  | "REQUEST_TIMEOUT"
  | "HEADERS_TOO_LARGE"
  | "ENDPOINT_SUNSET"
  | "RATE_LIMIT_EXCEEDED"
  | "API_KEY_BANNED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DEADLINE_EXCEEDED";

/** A failure that the service means, as against a bug. Its message is shown to clients. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function petNotFound(petId: bigint): DomainError {
  return new DomainError("PET_NOT_FOUND", `There is no pet ${petId}. List the inventory to see which there are.`);
}

export function invalidPageToken(): DomainError {
  return new DomainError(
    "INVALID_PAGE_TOKEN",
    "The page token is not one that was issued for this list and filter. Start again without it.",
  );
}

/** The store cannot be written or read at present: busy, full, or failing. */
export function storeUnavailable(cause: unknown): DomainError {
  return new DomainError("UNAVAILABLE", "The service cannot reach its store at present. Try again later.", { cause });
}
