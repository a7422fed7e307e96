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
  | "HOLD_NOT_FOUND"
  | "QUANTITY_OUT_OF_RANGE"
  | "INSUFFICIENT_STOCK"
  | "HOLD_ENDED"
  | "PRECONDITION_FAILED"
  | "IDEMPOTENCY_KEY_REUSED"
  | "CURSOR_EXPIRED"
  | "ROUTE_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "BODY_TOO_LARGE"
  | "MEDIA_TYPE_UNSUPPORTED"
  | "NOT_ACCEPTABLE"
  | "REQUEST_TIMEOUT"
  | "HEADERS_TOO_LARGE"
  | "ENDPOINT_SUNSET"
  | "RATE_LIMIT_EXCEEDED"
  | "API_KEY_BANNED"
  | "TOO_MANY_STREAMS"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DEADLINE_EXCEEDED";

/** The fault of one field of a request. */
export interface FieldViolation {
  /** The path of the field in the request message, such as `update.quantity`. */
  readonly field: string;
  readonly description: string;
}

interface DomainErrorOptions extends ErrorOptions {
  readonly fieldViolations?: readonly FieldViolation[];
  readonly retryAfterSeconds?: number;
}

/** An expected failure, as opposed to a bug. Its message is shown to clients. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: ErrorCode;
  /** The fields at fault; empty where the error is not about single fields. */
  readonly fieldViolations: readonly FieldViolation[];
  /** How long the caller has to wait, where that is known. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options?: DomainErrorOptions) {
    super(message, options);
    this.code = code;
    this.fieldViolations = options?.fieldViolations ?? [];
    this.retryAfterSeconds = options?.retryAfterSeconds;
  }
}

/** The content of a request breaks the rules of its fields. */
export function invalidRequest(message: string, fieldViolations: readonly FieldViolation[]): DomainError {
  return new DomainError("INVALID_REQUEST", message, { fieldViolations });
}

/** A request carries no API key. */
export function apiKeyMissing(): DomainError {
  return new DomainError("API_KEY_MISSING", "Send your API key in the header `Authorization: Bearer <API_KEY>`.");
}

/** The API key of a request is malformed or unknown. */
export function apiKeyInvalid(): DomainError {
  return new DomainError("API_KEY_INVALID", "The API key is not valid. Check that it is sent whole, and only once.");
}

/** A key has expired; or a rotation has replaced the secret of the request, and its grace has ended. */
export function apiKeyExpired(): DomainError {
  return new DomainError("API_KEY_EXPIRED", "The API key has expired. Use its successor, or ask for a new one.");
}

/** A key has been revoked. */
export function apiKeyRevoked(): DomainError {
  return new DomainError("API_KEY_REVOKED", "The API key has been revoked. Ask for a new one.");
}

/** A key lacks the scope that an operation needs. */
export function scopeMissing(scope: string): DomainError {
  return new DomainError("SCOPE_MISSING", `The API key lacks the scope ${scope}. Use a key that has it.`);
}

/** An operation is past its sunset, and sunsets are enforced. `sunset` is its date, for the message. */
export function endpointSunset(sunset: string): DomainError {
  return new DomainError("ENDPOINT_SUNSET", `This endpoint ended on ${sunset}. The reference names its successor.`);
}

/** A window of the caller is used up. The caller is admitted again after this many whole seconds. */
export function rateLimitExceeded(retryAfterSeconds: number): DomainError {
  const message = `The rate limit is exceeded. Wait ${retryAfterSeconds} s, and back off exponentially from then on.`;
  return new DomainError("RATE_LIMIT_EXCEEDED", message, { retryAfterSeconds });
}

/** A key is banned, because it went on after refusals. It is admitted again after this many whole seconds. */
export function apiKeyBanned(retryAfterSeconds: number): DomainError {
  const message = `The API key is banned, as it went on after the rate limit was exceeded. Wait ${retryAfterSeconds} s.`;
  return new DomainError("API_KEY_BANNED", message, { retryAfterSeconds });
}

/** A key has the most streams open that it may have. */
export function tooManyStreams(most: number): DomainError {
  return new DomainError(
    "TOO_MANY_STREAMS",
    `The key has ${most} streams open, the most that it may. Close those that are not needed.`,
  );
}

/** All keys together have the most streams open that the service allows. */
export function tooManyStreamsInAll(): DomainError {
  return new DomainError("UNAVAILABLE", "Too many streams are open. Try again later.");
}

/** The server stops, and ends its streams. */
export function serverStopping(): DomainError {
  return new DomainError("UNAVAILABLE", "The server stops. Connect again in a second.");
}

/** No pet has this id, so the inventory has no entry for it. */
export function petNotFound(petId: bigint): DomainError {
  return new DomainError("PET_NOT_FOUND", `There is no pet ${petId}. List the inventory to see which there are.`);
}

/** No hold has this id. */
export function holdNotFound(): DomainError {
  return new DomainError(
    "HOLD_NOT_FOUND",
    "There is no hold with this id. Ended holds are kept as long as the history.",
  );
}

/** The result of a change would exceed an int64. */
export function quantityOutOfRange(petId: bigint): DomainError {
  return new DomainError(
    "QUANTITY_OUT_OF_RANGE",
    `The stock of pet ${petId} would leave the range of 64-bit integers. Nothing was changed; send a smaller amount.`,
  );
}

/** A request takes more of a pet's stock than is available. */
export function insufficientStock(petId: bigint, available: bigint): DomainError {
  const advice = available > 0n ? "Take no more than that" : "Wait until stock arrives or holds end";
  return new DomainError("INSUFFICIENT_STOCK", `The available stock of pet ${petId} is ${available}. ${advice}.`);
}

/** A hold has ended: it has expired or was released. For a release: it was committed. */
export function holdEnded(state: string): DomainError {
  return new DomainError("HOLD_ENDED", `The hold has ended: it is ${state}. Create a new one.`);
}

/** A request names weak tags only. */
export function weakTags(): DomainError {
  return new DomainError(
    "PRECONDITION_FAILED",
    'A weak tag, such as W/"a", matches no version. Send the strong tag that the entry has.',
  );
}

/** An entry has none of the versions that a request names. */
export function preconditionFailed(petId: bigint): DomainError {
  return new DomainError(
    "PRECONDITION_FAILED",
    `The stock entry of pet ${petId} was written since. Read it again, and send its new tag.`,
  );
}

/** An idempotency key was used for another request. */
export function idempotencyKeyReused(): DomainError {
  return new DomainError(
    "IDEMPOTENCY_KEY_REUSED",
    "The idempotency key was used for another request. Make a new key for each new request.",
  );
}

/** The changes after a cursor are no longer kept, or belong to another history. */
export function cursorExpired(): DomainError {
  return new DomainError(
    "CURSOR_EXPIRED",
    "The changes after this cursor are no longer kept. List the inventory anew, and go on from its cursor.",
  );
}

/** A page token was not issued for the list and filter that it is sent with. */
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

/** A list takes so long that changes after its revision have been deleted. The next one has a newer revision. */
export function historyGone(revision: bigint): DomainError {
  return storeUnavailable(new Error(`the history no longer has all changes after revision ${revision}`));
}

/** Whether a failure is `UNAVAILABLE`. */
export function isUnavailable(reason: unknown): boolean {
  return reason instanceof DomainError && reason.code === "UNAVAILABLE";
}

/** Requests cannot be counted at present, so none is admitted. */
export function limitsUnavailable(): DomainError {
  return new DomainError("UNAVAILABLE", "The service cannot count requests at present. Try again later.");
}

/**
 * The store has not answered for so long that the server cannot tell whether a key is still valid. The caller does not
 * count as anonymous.
 */
export class KeyStatusUnknownError extends DomainError {
  constructor() {
    super("UNAVAILABLE", "The service cannot reach its store at present. Try again later.", {
      cause: new Error("the store has not answered for too long: the key may have been revoked"),
    });
  }
}

/** A bug. The cause is for the log alone. */
export function internal(cause: unknown): DomainError {
  return new DomainError("INTERNAL", "The service failed. Try again later.", { cause });
}

/** The caller's deadline has passed, and nothing was changed. */
export function deadlineExceeded(): DomainError {
  return new DomainError("DEADLINE_EXCEEDED", "The deadline has passed. Nothing was changed; allow more time.");
}
