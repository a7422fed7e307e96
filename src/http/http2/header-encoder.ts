import { badValue } from "../header-list.ts";
import { fieldOverhead, staticTable, token } from "./field.ts";
import type { FrameOutput } from "./frame-output.ts";

/** The largest dynamic table that the encoder uses, in bytes, even if the client allows a larger one. */
const maxTableBytes = 4_096;

/** The most fields that fit into the table: each takes at least `fieldOverhead` bytes. It is a power of two. */
const slots = 128;

/** How many field names the encoder remembers. Answers use fewer. */
const maxNames = slots;

/** What the encoder remembers about a field name. */
interface KnownName {
  /** The value that was added to the table last. */
  added: string;
  /**
   * The number of the table entry with that value, counted from 0 over all entries ever added; -1 if there was none.
   */
  nth: number;
  /** The value that was sent last. */
  sent: string;
}

/**
 * Encodes the header blocks of one connection, in their order.
 * Source: https://www.rfc-editor.org/rfc/rfc7541
 *
 * A field goes to the table when its name is new, or when its value is sent twice in a row. From then on its index is
 * sent. So values that differ each time, such as request ids, do not fill the table.
 */
export class HeaderEncoder {
  readonly #known = new Map<string, KnownName>();
  /** The sizes of the fields in the table, as a ring. The size of the nth field that was added is at `n % slots`. */
  readonly #sizes = new Uint16Array(slots);
  #added = 0;
  #count = 0;
  #bytes = 0;
  #capacity = maxTableBytes;
  /**
   * The table sizes that the next block announces: the smallest since the last block, and the present one.
   * Source: RFC 7541, section 4.2
   */
  #toTell: readonly number[] = [];

  /** Applies the client's SETTINGS_HEADER_TABLE_SIZE. */
  setCapacity(bytes: number): void {
    const capacity = Math.min(bytes, maxTableBytes);
    const smallest = Math.min(capacity, this.#toTell[0] ?? this.#capacity);
    this.#toTell = smallest < capacity ? [smallest, capacity] : [capacity];
    this.#evict(smallest);
    this.#capacity = capacity;
  }

  /** Writes a block with these fields; `raw` has names and values in turn. `status` is undefined for a trailer. */
  encode(output: FrameOutput, status: number | undefined, raw: readonly string[]): void {
    for (const capacity of this.#toTell) {
      output.writeInteger(0x20, 0x1f, capacity);
    }
    this.#toTell = [];
    if (status !== undefined) {
      writeStatus(output, status);
    }
    for (let i = 0; i < raw.length; i += 2) {
      this.#write(output, raw[i] as string, raw[i + 1] as string);
    }
  }

  /**
   * Throws if a field is invalid. Call it before `encode`: an error within a block would leave the two sides with
   * different tables.
   */
  assertValid(raw: readonly string[]): void {
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string;
      const value = raw[i + 1] as string;
      const known = this.#known.get(name);
      if ((known === undefined && !token.test(name)) || (known?.sent !== value && badValue.test(value))) {
        throw new TypeError(`The header ${JSON.stringify(name)} or its value cannot be written.`);
      }
    }
  }

  #write(output: FrameOutput, name: string, value: string): void {
    const known = this.#known.get(name);
    if (known === undefined) {
      const made = { added: "", nth: -1, sent: value };
      if (this.#known.size < maxNames) {
        this.#known.set(name, made);
        this.#writeAdded(output, name, value, made);
      } else {
        this.#writeName(output, 0x00, 0x0f, name, made);
        output.writeText(value);
      }
      return;
    }
    const isInTable = known.nth >= this.#added - this.#count;
    if (isInTable && known.added === value) {
      output.writeInteger(0x80, 0x7f, staticTable.length + this.#added - known.nth);
    } else if (known.sent === value) {
      this.#writeAdded(output, name, value, known);
    } else {
      this.#writeName(output, 0x00, 0x0f, name, known);
      output.writeText(value);
    }
    known.sent = value;
  }

  /** Writes a field that both sides add to their tables. Source: RFC 7541, section 6.2.1 */
  #writeAdded(output: FrameOutput, name: string, value: string, known: KnownName): void {
    this.#writeName(output, 0x40, 0x3f, name, known);
    output.writeText(value);
    const size = name.length + value.length + fieldOverhead;
    if (size > this.#capacity) {
      this.#evict(0);
      return;
    }
    this.#evict(this.#capacity - size);
    this.#sizes[this.#added % slots] = size;
    this.#bytes += size;
    this.#count += 1;
    known.added = value;
    known.nth = this.#added;
    this.#added += 1;
  }

  #writeName(output: FrameOutput, pattern: number, mask: number, name: string, known: KnownName): void {
    const inTable = known.nth >= this.#added - this.#count ? staticTable.length + this.#added - known.nth : 0;
    const index = staticNames.get(name) ?? inTable;
    output.writeInteger(pattern, mask, index);
    if (index === 0) {
      output.writeText(name);
    }
  }

  #evict(maxBytes: number): void {
    while (this.#bytes > maxBytes) {
      this.#bytes -= this.#sizes[(this.#added - this.#count) % slots] as number;
      this.#count -= 1;
    }
  }
}

/** The first index of each name of the static table. */
const staticNames = new Map(staticTable.map(({ name }, i) => [name, i + 1] as const).reverse());

/** The indices of the statuses in the static table. */
const statuses = new Map(
  staticTable.flatMap(({ name, value }, i) => (name === ":status" ? [[Number(value), i + 1] as const] : [])),
);

function writeStatus(output: FrameOutput, status: number): void {
  const index = statuses.get(status);
  if (index !== undefined) {
    output.writeInteger(0x80, 0x7f, index);
  } else {
    output.writeInteger(0x00, 0x0f, staticNames.get(":status") as number);
    output.writeText(String(status));
  }
}
