/** The HTTP status of an API error code over REST, and its canonical code over gRPC and Connect. */
export interface ErrorMeaning {
  readonly http: number;
  readonly canonical: string;
}

/** The whole error table of docs/contract.md#errors */
export const errorCodes = {
  INVALID_REQUEST: { http: 400, canonical: "invalid_argument" },
  INVALID_PAGE_TOKEN: { http: 400, canonical: "invalid_argument" },
  QUANTITY_OUT_OF_RANGE: { http: 400, canonical: "out_of_range" },
  API_KEY_MISSING: { http: 401, canonical: "unauthenticated" },
  API_KEY_INVALID: { http: 401, canonical: "unauthenticated" },
  API_KEY_EXPIRED: { http: 401, canonical: "unauthenticated" },
  API_KEY_REVOKED: { http: 401, canonical: "unauthenticated" },
  SCOPE_MISSING: { http: 403, canonical: "permission_denied" },
  PET_NOT_FOUND: { http: 404, canonical: "not_found" },
  HOLD_NOT_FOUND: { http: 404, canonical: "not_found" },
  ROUTE_NOT_FOUND: { http: 404, canonical: "unimplemented" },
  METHOD_NOT_ALLOWED: { http: 405, canonical: "unimplemented" },
  REQUEST_TIMEOUT: { http: 408, canonical: "deadline_exceeded" },
  INSUFFICIENT_STOCK: { http: 409, canonical: "failed_precondition" },
  HOLD_ENDED: { http: 409, canonical: "failed_precondition" },
  ENDPOINT_SUNSET: { http: 410, canonical: "failed_precondition" },
  NOT_ACCEPTABLE: { http: 406, canonical: "invalid_argument" },
  TOO_MANY_STREAMS: { http: 429, canonical: "resource_exhausted" },
  CURSOR_EXPIRED: { http: 410, canonical: "out_of_range" },
  PRECONDITION_FAILED: { http: 412, canonical: "aborted" },
  BODY_TOO_LARGE: { http: 413, canonical: "resource_exhausted" },
  MEDIA_TYPE_UNSUPPORTED: { http: 415, canonical: "invalid_argument" },
  IDEMPOTENCY_KEY_REUSED: { http: 422, canonical: "invalid_argument" },
  RATE_LIMIT_EXCEEDED: { http: 429, canonical: "resource_exhausted" },
  API_KEY_BANNED: { http: 429, canonical: "resource_exhausted" },
  HEADERS_TOO_LARGE: { http: 431, canonical: "resource_exhausted" },
  INTERNAL: { http: 500, canonical: "internal" },
  UNAVAILABLE: { http: 503, canonical: "unavailable" },
  DEADLINE_EXCEEDED: { http: 504, canonical: "deadline_exceeded" },
} as const satisfies Record<string, ErrorMeaning>;

export type ErrorCode = keyof typeof errorCodes;
