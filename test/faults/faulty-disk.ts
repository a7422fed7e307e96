import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "../support/installed.ts";
import { serve, type TestServer, type TestStore } from "../support/server.ts";

/** Whether there can be a faulty disk here; the titles of tests that are skipped without one say what it takes. */
export const hasFaultyDisk = process.platform === "linux" && isInstalled("gcc");

const operations = { reads: 1, writes: 2, syncs: 4 } as const;

/** What a disk is to do wrong. */
export interface Fault {
  /** What goes wrong. Writes are those of the store, its log and their index, and to change a file's length. */
  readonly on: readonly (keyof typeof operations)[];
  /** What the system says; it is left out where a call only takes its time. */
  readonly error?: "ENOSPC" | "EIO" | "EROFS";
  /** How many go well before; 0 by default. */
  readonly after?: number;
  /** How many go wrong; all by default. */
  readonly times?: number;
  /** How long each of them takes, until the disk is healed, in milliseconds; 0 by default. */
  readonly delayMs?: number;
}

const fieldCount = 7;
const seenField = 5;
const failedField = 6;

/** The disk under a server's store, which fails when it is told to. */
export class FaultyDisk {
  readonly #folder = mkdtempSync(join(tmpdir(), "petstore-disk-"));
  readonly #control: number;
  /** What a server must be started with. */
  readonly env: Readonly<Record<string, string>>;

  constructor({ db }: TestStore) {
    const library = join(this.#folder, "faulty-disk.so");
    const source = join(import.meta.dirname, "faulty-disk.c");
    execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]);
    const control = join(this.#folder, "control");
    this.#control = openSync(control, "w+");
    this.env = { LD_PRELOAD: library, FAULTY_DISK_CONTROL: control, FAULTY_DISK_PATH: db };
    this.heal();
  }

  /** From now on. What was counted is forgotten. */
  break({ on, error, after = 0, times = 0x7fff_ffff, delayMs = 0 }: Fault): void {
    const mask = on.reduce((sum, name) => sum | operations[name], 0);
    this.#write([0, 0, 0, 0, 0, 0, 0]);
    this.#write([mask, error === undefined ? 0 : constants.errno[error], after, times, delayMs, 0, 0]);
  }

  /** From now on all goes well; calls that take their time are done soon. */
  heal(): void {
    this.#write([0, 0, 0, 0, 0]);
  }

  /** How many calls of the faulty kind there have been since the disk was broken. */
  get seen(): number {
    return this.#read(seenField);
  }

  /** How many of those have failed. */
  get failed(): number {
    return this.#read(failedField);
  }

  remove(): void {
    closeSync(this.#control);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #write(fields: readonly number[]): void {
    writeSync(this.#control, Int32Array.from(fields), 0, fields.length * Int32Array.BYTES_PER_ELEMENT, 0);
  }

  #read(field: number): number {
    const fields = new Int32Array(fieldCount);
    readSync(this.#control, fields, { position: 0 });
    return fields[field] as number;
  }
}

/** Starts a server on a store whose disk is faulty. */
export async function serveFrom(
  disk: FaultyDisk,
  store: TestStore,
  flags: readonly string[] = [],
): Promise<TestServer> {
  return await serve(store, { env: disk.env, flags });
}
