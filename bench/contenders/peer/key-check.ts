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
  // With a bare `?` SQLite would plan the query again for each request, at five times the cost.
  const find = db.prepare<[Buffer], KeyQuota>(
    `SELECT keys.id, keys.per_minute AS perMinute, keys.per_day AS perDay
     FROM secrets JOIN keys ON keys.id = secrets.key_id
     WHERE secrets.hash = +? AND keys.revoked_at_ms IS NULL`,
  );
  return createCheck((hash) => find.get(hash));
}

/** A key, with the SHA-256 of its token. */
export interface KeyRow extends KeyQuota {
  readonly hash: Buffer;
}

/** Looks keys up in memory, by the SHA-256 of their token. */
export function createKeyTable(rows: readonly KeyRow[]): KeyCheck {
  const keys = new Map(rows.map((row) => [row.hash.toString("hex"), row]));
  return createCheck((hash) => keys.get(hash.toString("hex")));
}

function createCheck(find: (hash: Buffer) => KeyQuota | undefined): KeyCheck {
  const prefix = "Bearer ";
  return (authorization) =>
    authorization?.startsWith(prefix) === true
      ? find(createHash("sha256").update(authorization.slice(prefix.length)).digest())
      : undefined;
}
