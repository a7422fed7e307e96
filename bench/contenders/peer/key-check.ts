import { createHash } from "node:crypto";
import type Sqlite from "better-sqlite3";

/** What a key may use. */
export interface KeyQuota {
  readonly id: string;
  readonly perMinute: number;
  readonly perDay: number;
}

/** Finds the key that an `Authorization` header carries. Undefined when it is missing, unknown or revoked. */
export type KeyCheck = (authorization: string | undefined) => KeyQuota | undefined;

/** Looks keys up by the SHA-256 of their token, by a prepared statement that is run for each request. */
export function createKeyCheck(db: Sqlite.Database): KeyCheck {
  // With a bare `?` SQLite would plan the query again for each request, at five times the cost; the peers are spared
  // it.
  const find = db.prepare<[Buffer], KeyQuota>(
    `SELECT keys.id, keys.per_minute AS perMinute, keys.per_day AS perDay
     FROM secrets JOIN keys ON keys.id = secrets.key_id
     WHERE secrets.hash = +? AND keys.revoked_at_ms IS NULL`,
  );
  return (authorization) => {
    const prefix = "Bearer ";
    return authorization?.startsWith(prefix) === true
      ? find.get(createHash("sha256").update(authorization.slice(prefix.length)).digest())
      : undefined;
  };
}
