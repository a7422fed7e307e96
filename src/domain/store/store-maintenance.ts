/** Looks after a store that is kept in files. Errors of the file system are thrown as they are. */
export interface StoreMaintenance {
  /**
   * Writes a consistent copy of the store to a new file, while others read and write. Throws when the file exists, or
   * cannot be written.
   */
  backup(file: string, report?: ReportProgress): Promise<void>;
  /** Records a backup that was taken, in place of the one before. */
  recordBackup(backup: BackupRecord): Promise<void>;
  /** Undefined when no backup was recorded. */
  lastBackup(): Promise<BackupRecord | undefined>;
  /** Measures the store, and the space that is left for it. */
  space(): Promise<StoreSpace>;
  /** Looks for faults, a line for each, and changes nothing. Others may read and write meanwhile. */
  check(depth: CheckDepth, report?: ReportProgress): Promise<string[]>;
  /**
   * Replaces the store with a backup, once a copy of that is known to be sound. Throws while anybody uses the store.
   * Returns the name under which the former store is kept; undefined when there was none.
   */
  restore(backup: string, report?: ReportProgress): Promise<string | undefined>;
}

/** A quick check leaves out what takes longest: whether the indexes agree with their tables. */
export type CheckDepth = "quick" | "full";

/** A backup of a store. */
export interface BackupRecord {
  /** The moment that the backup shows, in milliseconds since the Unix epoch. */
  readonly takenAtMs: number;
  readonly bytes: number;
}

/** The space that a store takes and has, in bytes. */
export interface StoreSpace {
  readonly dataBytes: number;
  /** The size of the log that is not merged into the data yet. */
  readonly logBytes: number;
  /** The space that is left for the store. */
  readonly freeBytes: number;
  /** The size of the file system that the store is on. */
  readonly capacityBytes: number;
}

/** Called with the progress of long work, in a unit of the work's own. */
export type ReportProgress = (done: number, total: number) => void;

/** A number that a backend tells about itself, as a metric for Prometheus. */
export interface StoreGauge {
  /** The metric's full name, with its unit. */
  readonly name: string;
  readonly help: string;
  /** Rejects with `UNAVAILABLE`. */
  readonly read: () => Promise<number>;
}

/** A group of writes that a backend has committed together. */
export interface CommittedGroup {
  readonly size: number;
  /** How long the commit took, in milliseconds. */
  readonly syncMs: number;
}
