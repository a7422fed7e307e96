/**
 * The headers of an answer as a plain list, with the interface of `Headers`. Answers append headers and write them, and
 * hardly ever look one up. A list does this faster than `Headers`. Names are in lower case, in the order in which they
 * are added. Names and values are checked only when they are written.
 */
export class HeaderList implements Headers {
  /** Names and values in turn, as they are written. */
  readonly raw: string[] = [];

  /** Makes a list with the headers of all `others`. */
  constructor(...others: readonly Headers[]) {
    for (const headers of others) {
      this.appendAll(headers);
    }
  }

  /** Makes a list of names and their values. */
  static from(record: Readonly<Record<string, string>>): HeaderList {
    const list = new HeaderList();
    for (const [name, value] of Object.entries(record)) {
      list.append(name, value);
    }
    return list;
  }

  append(name: string, value: string): void {
    this.raw.push(name.toLowerCase(), value);
  }

  appendAll(headers: Headers): void {
    if (headers instanceof HeaderList) {
      this.raw.push(...headers.raw);
    } else {
      headers.forEach((value, name) => {
        this.append(name, value);
      });
    }
  }

  set(name: string, value: string): void {
    this.delete(name);
    this.raw.push(name.toLowerCase(), value);
  }

  delete(name: string): void {
    const wanted = name.toLowerCase();
    for (let i = this.raw.length - 2; i >= 0; i -= 2) {
      if (this.raw[i] === wanted) {
        this.raw.splice(i, 2);
      }
    }
  }

  get(name: string): string | null {
    const lines = this.#lines(name);
    return lines.length === 0 ? null : lines.join(", ");
  }

  has(name: string): boolean {
    const wanted = name.toLowerCase();
    return this.raw.some((text, i) => text === wanted && i % 2 === 0);
  }

  getSetCookie(): string[] {
    return this.#lines("set-cookie");
  }

  forEach(visit: (value: string, name: string, parent: Headers) => void, thisArg?: unknown): void {
    for (let i = 0; i < this.raw.length; i += 2) {
      visit.call(thisArg, this.raw[i + 1] as string, this.raw[i] as string, this);
    }
  }

  *entries(): HeadersIterator<[string, string]> {
    for (let i = 0; i < this.raw.length; i += 2) {
      yield [this.raw[i] as string, this.raw[i + 1] as string];
    }
  }

  *keys(): HeadersIterator<string> {
    for (const [name] of this) {
      yield name;
    }
  }

  *values(): HeadersIterator<string> {
    for (const [, value] of this) {
      yield value;
    }
  }

  [Symbol.iterator](): HeadersIterator<[string, string]> {
    return this.entries();
  }

  #lines(name: string): string[] {
    const wanted = name.toLowerCase();
    return this.raw.filter((_value, i) => i % 2 === 1 && this.raw[i - 1] === wanted);
  }
}

type HeadersIterator<T> = ReturnType<Headers["entries"]> extends Iterator<unknown> ? Generator<T, undefined> : never;

/** A token, such as a method or the name of a field. Source: RFC 9110, 5.6.2 */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** A character that a field value must not contain. Source: RFC 9110, section 5.5 */
export const badValue = /[^\t\x20-\x7e\x80-\xff]/;
