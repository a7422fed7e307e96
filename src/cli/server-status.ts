/** How a running server is: what its operator's port answers at `/status`. */
export interface ServerStatus {
  readonly version: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly url: string;
  readonly opsUrl: string;
  readonly ready: boolean;
  readonly db: { readonly path: string; readonly fileBytes: number; readonly walBytes: number };
  /** Since the start, and a second on average of the last minute. */
  readonly calls: { readonly total: number; readonly perSecond1m: number; readonly failed: number };
  /** Since the start. */
  readonly limits: { readonly admitted: number; readonly refused: number; readonly banned: number };
  /** How many keys there are on each plan. */
  readonly keys: { readonly byPlan: Readonly<Record<string, number>> };
  readonly logLevel: string;
}

/** A value of each type, which stands for its type. */
const model = {
  version: "",
  startedAt: "",
  url: "",
  opsUrl: "",
  ready: true,
  db: { path: "", fileBytes: 0, walBytes: 0 },
  calls: { total: 0, perSecond1m: 0, failed: 0 },
  limits: { admitted: 0, refused: 0, banned: 0 },
  keys: { byPlan: {} },
  logLevel: "",
} satisfies ServerStatus;

/** Takes an answer for a status when it has all of it; there may be more, of a newer server. Undefined otherwise. */
export function parseStatus(answer: unknown): ServerStatus | undefined {
  return hasShape(answer, model) ? (answer as ServerStatus) : undefined;
}

function hasShape(value: unknown, shape: unknown): boolean {
  if (typeof value !== typeof shape || value === null) {
    return false;
  }
  const parts = typeof shape === "object" ? Object.entries(shape as object) : [];
  return parts.every(([name, part]) => hasShape((value as Record<string, unknown>)[name], part));
}
