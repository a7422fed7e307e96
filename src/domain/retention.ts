/**
 * Changes before this time are no longer part of the history, in milliseconds since the Unix epoch. `retentionMs` is
 * how long they are; infinity for ever. Source: docs/contract.md#history
 */
export function keptSinceMs(retentionMs: number, nowMs: number): number {
  return Math.max(0, nowMs - retentionMs);
}
