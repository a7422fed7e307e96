/** A fixed window, opened by the first request that it counts. */
export interface Window {
  /** Milliseconds since the Unix epoch. */
  readonly openedAtMs: number;
  readonly count: number;
}

/** A ban, or the memory of one. */
export interface Ban {
  /** How many bans in a row this is, from 1: it decides how long the next one lasts. */
  readonly step: number;
  /** Milliseconds since the Unix epoch. */
  readonly endsAtMs: number;
}

/** What is known of the use of one key. `undefined` stands for a window that was never opened. */
export interface Usage {
  readonly minute: Window | undefined;
  readonly day: Window | undefined;
  /** The requests refused of late, which may lead to a ban. */
  readonly refusals: Window | undefined;
  readonly ban: Ban | undefined;
  /** The key's `unbans` when this was last judged: when the key has more, the ban and the refusals are void. */
  readonly unbans: number;
}
