/*
 * The advisory locks, all of them. Each begins with "pets" in ASCII, so that other programs in the database have others.
 *
 * Source: https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS
 */

/** Held by who migrates. */
export const migrationLock = 0x70657473n;

/** Held by a server that registers. */
export const registrationLock = 0x70657473_1n;

/** Held by an import from when it has read its records. */
export const importLock = 0x70657473_2n;

/** Held by the server that deletes what is past its time. */
export const housekeepingLock = 0x70657473_3n;
