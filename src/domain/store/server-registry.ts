/** A server that uses a store which several servers may share. */
export interface RegisteredServer {
  readonly id: string;
  /** That of the program. */
  readonly version: string;
  /** Milliseconds since the Unix epoch, by the store's clock, as is `lastSeenAtMs`. */
  readonly startedAtMs: number;
  /** When the server last told the store that it lives. */
  readonly lastSeenAtMs: number;
}

/** The place of a server among those that use a store. */
export interface ServerRegistration {
  readonly id: string;
  /** The store's clock, by which all of its servers go, in milliseconds since the Unix epoch. */
  readonly clock: () => number;
  /** Leaves the place to others. */
  release(): Promise<void>;
}

/** How a server registers. */
export interface RegistrationOptions {
  readonly version: string;
  /** Whether the server counts limits in its own memory: then it must be the only one. */
  readonly countsAlone: boolean;
  /** Hears that another server has taken the place of this one, which must not go on. */
  readonly replaced: () => void;
}
