import { isDeepStrictEqual } from "node:util";
import { type Key, type KeySettings, settingsOf } from "../../domain/key.ts";
import type { KeyOutcome } from "../../domain/store/key-store.ts";
import { toNullable } from "../nullable.ts";
import type { Connection } from "./connection.ts";
import { getKey, hasSecret } from "./keys.ts";

/** Adds a secret to a key. The other secrets end at the given time, unless they end sooner. */
export function rotateKey(
  connection: Connection,
  id: string,
  secretHash: Uint8Array,
  oldSecretsExpireAtMs: number,
): KeyOutcome {
  return change(connection, id, () => {
    if (hasSecret(connection, secretHash)) {
      return "taken";
    }
    connection.run(
      `UPDATE secrets SET expires_at_ms = ifnull(min(expires_at_ms, ?), ?) WHERE key_id = ?`,
      BigInt(oldSecretsExpireAtMs),
      BigInt(oldSecretsExpireAtMs),
      id,
    );
    connection.run(`INSERT INTO secrets (hash, key_id) VALUES (?, ?)`, secretHash, id);
    return "done";
  });
}

export function revokeKey(connection: Connection, id: string, revokedAtMs: number): KeyOutcome {
  return change(connection, id, () => {
    connection.run(`UPDATE keys SET revoked_at_ms = ? WHERE id = ?`, BigInt(revokedAtMs), id);
    return "done";
  });
}

export function unbanKey(connection: Connection, id: string): KeyOutcome {
  return change(connection, id, () => {
    connection.run(`UPDATE keys SET unbans = unbans + 1 WHERE id = ?`, id);
    return "done";
  });
}

/** Changes the settings of a key, unless they differ from those of `former` by now. */
export function updateKey(connection: Connection, former: Key, settings: KeySettings): KeyOutcome {
  return change(connection, former.id, (key) => {
    if (!isDeepStrictEqual(settingsOf(key), settingsOf(former))) {
      return "stale";
    }
    connection.run(
      `UPDATE keys SET name = ?, plan = ?, per_minute = ?, per_day = ?, scopes = ?, expires_at_ms = ? WHERE id = ?`,
      settings.name,
      settings.plan,
      toNullable(settings.customQuota?.perMinute),
      toNullable(settings.customQuota?.perDay),
      JSON.stringify(settings.scopes),
      toNullable(settings.expiresAtMs),
      key.id,
    );
    return "done";
  });
}

/** Changes a key that is not revoked, and reads it again. `apply` returns the outcome. */
function change(connection: Connection, id: string, apply: (key: Key) => "done" | "stale" | "taken"): KeyOutcome {
  return connection.atomically(() => {
    const key = getKey(connection, id);
    if (key === undefined) {
      return { outcome: "unknown" };
    }
    if (key.revokedAtMs !== undefined) {
      return { outcome: "revoked", key };
    }
    return { outcome: apply(key), key: getKey(connection, id) ?? key };
  });
}
