import { petStatuses } from "../../../domain/catalog.ts";
import { type StockCommand, type StockRefusal, versionOf } from "../../../domain/stock.ts";
import type { BatchOutcome, WriteContext } from "../../../domain/store.ts";
import type { StoredStock } from "../stock-cache.ts";

/** A command as it waits for the writing thread. */
export interface QueuedCommand {
  readonly command: StockCommand;
  readonly context: WriteContext;
}

/** What the writing thread answers to a command. */
export interface QueuedAnswer {
  /** A 32-bit integer. */
  readonly code: number;
  readonly quantity: bigint;
  readonly revision: number;
}

/** The most commands in flight: a power of two, and far more than arrive during one commit. */
export const queueCapacity = 8192;
const capacity = queueCapacity;

/** Room for the texts of the commands, most of which have fewer than 64 bytes. */
const textBytes = capacity * 256;

/*
 * memory = positions, slots, texts
 * slot   = petId:int64 amount:int64 nowMs:float64 kind:int32 textPlace:int32 textLengths:int32[7]
 * answer = quantity:int64 (unused):int64 revision:float64 code:int32
 *
 * A position counts all commands ever put, and wraps around at 32 bits. A command keeps its slot until its answer has
 * been read. Its texts follow one another; the length of an absent one is -1.
 */
const slotBytes = 64;
const slotsStart = 64;
const textsStart = slotsStart + capacity * slotBytes;
const int64sPerSlot = slotBytes / BigInt64Array.BYTES_PER_ELEMENT;
const int32sPerSlot = slotBytes / Int32Array.BYTES_PER_ELEMENT;
const [petIdField, amountField, nowMsField] = [0, 1, 2];
const [kindField, textPlaceField, textLengthsField] = [6, 7, 8];
const textCount = 7;
const [quantityField, revisionField, codeField] = [petIdField, nowMsField, kindField];

const [putPosition, takenPosition, sleeping] = [0, 1, 2];

const [setKind, adjustKind, adjustAllowingNegativeKind] = [0, 1, 2];

/**
 * A queue of stock commands for the writing thread, in memory that both threads share. One thread puts commands and
 * reads the answers, the other takes and answers them. With messages instead, a command would be twice as much work for
 * the serving thread.
 */
export class CommandQueue {
  /** The other thread makes its end of the queue from this. */
  readonly memory: SharedArrayBuffer;
  readonly #positions: Int32Array;
  readonly #int64s: BigInt64Array;
  readonly #float64s: Float64Array;
  readonly #int32s: Int32Array;
  readonly #texts: TextRing;
  /** What `TextRing.used` was after the texts of each slot. */
  readonly #textEnds = new Float64Array(capacity);
  /** The position of the oldest command whose answer has not been read. */
  #readPosition: number;
  /** The API key of the last command. Mostly the next command has the same key, which is then not written again. */
  #keyId: string | undefined;

  constructor(memory = new SharedArrayBuffer(textsStart + textBytes)) {
    this.memory = memory;
    this.#positions = new Int32Array(memory, 0, 3);
    this.#int64s = new BigInt64Array(memory, slotsStart, capacity * int64sPerSlot);
    this.#float64s = new Float64Array(memory, slotsStart, capacity * int64sPerSlot);
    this.#int32s = new Int32Array(memory, slotsStart, capacity * int32sPerSlot);
    this.#texts = new TextRing(memory, textsStart, textBytes);
    this.#readPosition = Atomics.load(this.#positions, takenPosition);
  }

  /** Appends a command. False where there is no room for it, or its texts. */
  put(command: StockCommand, context: WriteContext): boolean {
    const position = Atomics.load(this.#positions, putPosition);
    const slot = position & (capacity - 1);
    if (((position - this.#readPosition) | 0) === capacity || !this.#putTexts(slot, command, context)) {
      return false;
    }
    const [first64, first32] = [slot * int64sPerSlot, slot * int32sPerSlot];
    this.#int64s[first64 + petIdField] = command.petId;
    this.#int64s[first64 + amountField] = amountOf(command);
    this.#float64s[first64 + nowMsField] = context.nowMs;
    this.#int32s[first32 + kindField] = kindOf(command);
    Atomics.store(this.#positions, putPosition, position + 1);
    return true;
  }

  /** Takes all waiting commands. */
  take(): QueuedCommand[] {
    const start = Atomics.load(this.#positions, takenPosition);
    const end = Atomics.load(this.#positions, putPosition);
    const commands: QueuedCommand[] = [];
    for (let position = start; position !== end; position = (position + 1) | 0) {
      commands.push(this.#readCommand(position & (capacity - 1)));
    }
    Atomics.store(this.#positions, takenPosition, end);
    return commands;
  }

  /** Answers the commands that were taken last, in their order. */
  answer(answers: readonly QueuedAnswer[]): void {
    const start = Atomics.load(this.#positions, takenPosition) - answers.length;
    answers.forEach(({ code, quantity, revision }, index) => {
      const slot = (start + index) & (capacity - 1);
      this.#int64s[slot * int64sPerSlot + quantityField] = quantity;
      this.#float64s[slot * int64sPerSlot + revisionField] = revision;
      this.#int32s[slot * int32sPerSlot + codeField] = code;
    });
  }

  /** Reads the answer to the oldest command, once the other thread says that it has answered. */
  readAnswer(): QueuedAnswer {
    const slot = this.#readPosition & (capacity - 1);
    this.skipAnswer();
    return {
      code: this.#int32s[slot * int32sPerSlot + codeField] as number,
      quantity: this.#int64s[slot * int64sPerSlot + quantityField] as bigint,
      revision: this.#float64s[slot * int64sPerSlot + revisionField] as number,
    };
  }

  /** Frees the slot of the oldest command, which gets no answer. */
  skipAnswer(): void {
    this.#texts.freed = this.#textEnds[this.#readPosition & (capacity - 1)] as number;
    this.#readPosition = (this.#readPosition + 1) | 0;
  }

  /** Announces that the taking thread goes to sleep. False when commands wait. */
  sleep(): boolean {
    Atomics.store(this.#positions, sleeping, 1);
    const isEmpty = Atomics.load(this.#positions, putPosition) === Atomics.load(this.#positions, takenPosition);
    return isEmpty || Atomics.exchange(this.#positions, sleeping, 0) === 0;
  }

  /** Whether the taking thread sleeps. The caller that gets true has to wake it. */
  mustWake(): boolean {
    return Atomics.load(this.#positions, sleeping) === 1 && Atomics.exchange(this.#positions, sleeping, 0) === 1;
  }

  #putTexts(slot: number, command: StockCommand, { keyId, requestId, idempotency }: WriteContext): boolean {
    const { reason, reference } = command;
    const newKeyId = keyId === this.#keyId ? undefined : keyId;
    const versions = command.versions && JSON.stringify(command.versions);
    const texts = [newKeyId, requestId, reason, reference, versions, idempotency?.key, idempotency?.fingerprint];
    let units = 0;
    for (const text of texts) {
      units += text?.length ?? 0;
    }
    let place = this.#texts.reserve(units);
    if (place === undefined) {
      return false;
    }
    const fields = slot * int32sPerSlot;
    this.#int32s[fields + textPlaceField] = place;
    for (const [index, text] of texts.entries()) {
      const length = text === undefined ? -1 : this.#texts.put(text, place);
      this.#int32s[fields + textLengthsField + index] = length;
      place += Math.max(length, 0);
    }
    this.#textEnds[slot] = this.#texts.used;
    this.#keyId = keyId;
    return true;
  }

  #readCommand(slot: number): QueuedCommand {
    const [first64, first32] = [slot * int64sPerSlot, slot * int32sPerSlot];
    const [keyId = this.#keyId, requestId, reason, reference, versions, key, fingerprint] = this.#readTexts(first32);
    this.#keyId = keyId;
    const petId = this.#int64s[first64 + petIdField] as bigint;
    const amount = this.#int64s[first64 + amountField] as bigint;
    const kind = this.#int32s[first32 + kindField] as number;
    const common = { petId, versions: versions && JSON.parse(versions), reason, reference };
    const idempotency = key === undefined ? undefined : { key, fingerprint: fingerprint as string };
    const nowMs = this.#float64s[first64 + nowMsField] as number;
    return {
      command: commandOf(kind, amount, common),
      context: { nowMs, keyId: keyId as string, requestId: requestId as string, idempotency },
    };
  }

  #readTexts(fields: number): (string | undefined)[] {
    let place = this.#int32s[fields + textPlaceField] as number;
    const texts: (string | undefined)[] = [];
    for (let index = 0; index < textCount; index++) {
      const length = this.#int32s[fields + textLengthsField + index] as number;
      texts.push(length === -1 ? undefined : this.#texts.read(place, length));
      place += Math.max(length, 0);
    }
    return texts;
  }
}

/** The kind of a command as a number from 0 to 2. */
export function kindOf(command: StockCommand): number {
  if (command.kind === "set") {
    return setKind;
  }
  return command.allowNegative ? adjustAllowingNegativeKind : adjustKind;
}

/** The quantity that a command sets, or what it adds. */
export function amountOf(command: StockCommand): bigint {
  return command.kind === "set" ? command.quantity : command.delta;
}

/** The command with a kind and an amount, as `kindOf` and `amountOf` give them. */
export function commandOf(
  kind: number,
  amount: bigint,
  { petId, versions, reason, reference }: Pick<StockCommand, "petId" | "versions" | "reason" | "reference">,
): StockCommand {
  return kind === setKind
    ? { kind: "set", petId, quantity: amount, versions, reason, reference }
    : {
        kind: "adjust",
        petId,
        delta: amount,
        allowNegative: kind === adjustAllowingNegativeKind,
        versions,
        reason,
        reference,
      };
}

/*
 * code = the status's place in `petStatuses` for a command that is done, else one of these
 */
const refusalCodes = {
  unknown_pet: -1,
  version_mismatch: -2,
  out_of_range: -3,
  insufficient: -4,
  weak_tags: -5,
} as const;

const inMessageCode = -6;

/**
 * Stands in the queue for an outcome that does not fit there, such as a replay or an error. The group's message has
 * this outcome.
 */
export const inMessage: QueuedAnswer = { code: inMessageCode, quantity: 0n, revision: 0 };

export function answerDone({ status, quantity, revision }: StoredStock): QueuedAnswer {
  return { code: petStatuses.indexOf(status), quantity, revision: Number(revision) };
}

export function answerRefused(refusal: StockRefusal): QueuedAnswer {
  const quantity = refusal.outcome === "insufficient" ? refusal.available : 0n;
  return { code: refusalCodes[refusal.outcome], quantity, revision: 0 };
}

/** Whether a command has changed anything now. */
export function isChange({ revision }: QueuedAnswer): boolean {
  return revision > 0;
}

/** The revision after a group of commands; 0 where none has changed anything. */
export function lastRevision(answers: readonly QueuedAnswer[]): number {
  return answers.findLast(isChange)?.revision ?? 0;
}

/** Undefined where the group's message has the outcome. */
export function outcomeFromAnswer(
  petId: bigint,
  lineage: string,
  { code, quantity, revision }: QueuedAnswer,
): BatchOutcome | undefined {
  switch (code) {
    case inMessageCode:
      return undefined;
    case refusalCodes.unknown_pet:
      return { outcome: "unknown_pet" };
    case refusalCodes.version_mismatch:
      return { outcome: "version_mismatch" };
    case refusalCodes.weak_tags:
      return { outcome: "weak_tags" };
    case refusalCodes.out_of_range:
      return { outcome: "out_of_range" };
    case refusalCodes.insufficient:
      return { outcome: "insufficient", available: quantity };
    default: {
      const status = petStatuses[code] as StoredStock["status"];
      return { outcome: "done", entry: { petId, quantity, status, version: versionOf(lineage, revision) } };
    }
  }
}

/** The most bytes of UTF-8 that a UTF-16 code unit takes. */
const bytesPerUnit = 3;

/**
 * Texts in memory that two threads share, in UTF-8. One thread puts them, and frees the oldest ones; the other reads
 * them. Both find a text by its place and its length in bytes.
 */
class TextRing {
  readonly #bytes: Buffer;
  /** How many bytes have ever been used. Bytes that are skipped at the end of the ring count as used. */
  used = 0;
  /** How many of them are free again. To free a text and all earlier ones, set it to what `used` was after the text. */
  freed = 0;

  constructor(memory: SharedArrayBuffer, start: number, byteLength: number) {
    this.#bytes = Buffer.from(memory, start, byteLength);
  }

  /**
   * Makes room for texts of so many UTF-16 code units in all, one after the other. Returns the place of the first;
   * undefined when there is no room.
   */
  reserve(units: number): number | undefined {
    const needed = units * bytesPerUnit;
    const place = this.used % this.#bytes.length;
    const left = this.#bytes.length - place;
    const skipped = needed > left ? left : 0;
    if (this.used + skipped + needed - this.freed > this.#bytes.length) {
      return undefined;
    }
    this.used += skipped;
    return skipped > 0 ? 0 : place;
  }

  /** Puts a text at a place where there is room, and returns its length in bytes. */
  put(text: string, place: number): number {
    const length = this.#bytes.write(text, place);
    this.used += length;
    return length;
  }

  read(place: number, length: number): string {
    return this.#bytes.toString("utf8", place, place + length);
  }
}
