import { closeSync, openSync, readSync } from "node:fs";
import { isIP } from "node:net";
import { InvalidArgumentError } from "commander";
import ipaddr from "ipaddr.js";
import { isInt64 } from "../domain/ranges.ts";
import { inMemory } from "../server/config.ts";
import { Failure, systemFailure } from "./failure.ts";

/**
 * Turns a parser that returns undefined for bad text into one for commander, which throws `InvalidArgumentError`.
 * `expected` completes the sentence `It must be …`.
 */
export function argument<V>(parse: (text: string) => V | undefined, expected: string): (text: string) => V {
  return (text) => {
    const value = parse(text);
    if (value === undefined) {
      throw new InvalidArgumentError(`It must be ${expected}.`);
    }
    return value;
  };
}

/** Like `argument`, but for a flag that can be repeated and takes several values separated by commas. */
export function listArgument<V>(
  parse: (text: string) => V | undefined,
  expected: string,
): (text: string, former: readonly V[] | undefined) => readonly V[] {
  const parseOne = argument(parse, expected);
  return (text, former = []) => [...new Set([...former, ...text.split(",").map((part) => parseOne(part.trim()))])];
}

/** Reads a whole number in plain decimal digits, up to 2^53 - 1. Undefined for anything else. */
export function parseWholeNumber(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : undefined;
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Reads ids of pets, from a flag that can be repeated. */
export const parsePetIds = listArgument(parseInt64, "the id of a pet, such as 7");

/** Reads a stock count. */
export const parseQuantity = argument(parseInt64, "a 64-bit integer, such as 5");

/** Reads an int64 in plain decimal digits. Undefined for anything else. */
function parseInt64(text: string): bigint | undefined {
  const value = /^(?:0|-?[1-9][0-9]*)$/.test(text) ? BigInt(text) : undefined;
  return value !== undefined && isInt64(value) ? value : undefined;
}

const byteUnits = { "": 1, KiB: 1_024, MiB: 1_024 ** 2, GiB: 1_024 ** 3 };

/** Reads a number of bytes, at least 1, such as `1048576`, `512KiB` or `1MiB`. Undefined for anything else. */
export function parseByteSize(text: string): number | undefined {
  const [, amount = "", unit = ""] = /^(\d+)(KiB|MiB|GiB|)$/.exec(text) ?? [];
  const bytes = (parseWholeNumber(amount) ?? 0) * byteUnits[unit as keyof typeof byteUnits];
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Writes a number of bytes as `parseByteSize` reads it, in the largest unit that is exact. */
export function writeByteSize(bytes: number): string {
  const [unit, factor] = Object.entries(byteUnits).findLast(([, each]) => bytes % each === 0) ?? ["", 1];
  return `${bytes / factor}${unit}`;
}

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

// A century. Nobody needs a longer duration, and with this one the year of every date keeps four digits.
const maxDurationMs = 36_525 * unitMs.d;

/** The form of a duration. Completes the sentence `It must be …`. */
export const durationForm = "a duration such as 30s, 15m, 24h or 30d, of a century at most";

/** Reads a duration such as `30s`, `15m`, `24h` or `30d`, in milliseconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const durationMs = Number(amount) * unitMs[unit as keyof typeof unitMs];
  return durationMs <= maxDurationMs ? durationMs : undefined;
}

// Node's timers count up to 2^31 - 1 ms. A longer one fires at once.
const maxTimerMs = 2 ** 31 - 1;

/** Reads a duration for a timer, 24 days at most, in milliseconds. Undefined for anything else. */
export function parseTimerDuration(text: string): number | undefined {
  const durationMs = parseDuration(text);
  return durationMs !== undefined && durationMs <= maxTimerMs ? durationMs : undefined;
}

/** Writes whole seconds as `parseDuration` reads them, in the largest unit that is exact. */
export function writeDuration(durationMs: number): string {
  const units = Object.entries(unitMs);
  const [unit, lengthMs] = units.findLast(([, each]) => durationMs > 0 && durationMs % each === 0) ?? ["s", unitMs.s];
  return `${durationMs / lengthMs}${unit}`;
}

/** Reads the number of a port; 0 stands for any free one. Undefined for anything else. */
export function parsePort(text: string): number | undefined {
  const port = parseWholeNumber(text);
  return port !== undefined && port <= 65_535 ? port : undefined;
}

/** Reads a network such as `10.0.0.0/8`. An address stands for a network of itself alone. Undefined for anything else. */
export function parseCidr(text: string): string | undefined {
  const [address = ""] = text.split("/");
  const version = isIP(address);
  // ipaddr.js also accepts octal and shortened addresses, which programs read differently.
  if (version === 0) {
    return undefined;
  }
  const network = text.includes("/") ? text : `${text}/${version === 4 ? 32 : 128}`;
  return ipaddr.isValidCIDR(network) ? network : undefined;
}

/**
 * Reads an origin as browsers send it: `https://example.com`, with no path. Undefined for anything else.
 *
 * Source: RFC 6454, section 6.2
 */
export function parseOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) {
    return undefined;
  }
  const { origin, protocol } = new URL(text);
  return origin === text && (protocol === "https:" || protocol === "http:") ? origin : undefined;
}

/**
 * Reads the base URL of the API: an absolute HTTP URL that ends in `/v1`. Undefined for anything else.
 *
 * Source: docs/contract.md#protocols
 */
export function parseBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) {
    return undefined;
  }
  const { href, protocol, username, password } = new URL(text);
  const isPlain = username === "" && password === "" && !/[?#]/.test(href);
  return isPlain && (protocol === "https:" || protocol === "http:") && href.endsWith("/v1") ? href : undefined;
}

const limitsProtocols = ["redis:", "rediss:", "valkey:"];

/** The number of a database, as the path of a URL. By default Valkey has the databases 0 to 15. */
const databasePath = /^\/?(\d{1,5})?$/;

/** The forms of the URL that says where limits are counted. Completes the sentence `It must be …`. */
export const limitsUrlForm = `${inMemory}, or redis://HOST:PORT, rediss:// for TLS, or valkey://, with ?cluster for a cluster`;

/** Reads where limits are counted: `memory:`, or the URL of Valkey or Redis. Undefined for anything else. */
export function parseLimitsUrl(text: string): string | undefined {
  if (text === inMemory) {
    return text;
  }
  return URL.canParse(text) && isLimitsServer(new URL(text)) ? text : undefined;
}

function isLimitsServer({ protocol, hostname, pathname, search, hash, username, password }: URL): boolean {
  const isCluster = search === "?cluster";
  const hasDatabase = databasePath.test(pathname) && !(isCluster && /[1-9]/.test(pathname));
  return (
    limitsProtocols.includes(protocol) &&
    hostname !== "" &&
    hasDatabase &&
    (isCluster || search === "") &&
    hash === "" &&
    isDecodable(username + password)
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The longest URL of a webhook, in characters. */
const maxWebhookUrlLength = 2_048;

/** Http or https, two slashes and a host. WHATWG's parser also accepts `http:host`, and a URL without a host. */
const hasSlashes = /^https?:\/\/[^/?#\\]/i;

/** A name, an IPv4 address, or an IPv6 address in brackets. WHATWG's parser also accepts other characters. */
const hostForm = /^(\[[\da-f:]+\]|[\w-]+(\.[\w-]+)*\.?)$/;

/** Characters that WHATWG's parser would drop: it removes line breaks and tabs, and trims spaces. */
const hasBlanks = /[\0- \x7f]/;

/**
 * Reads the URL of a webhook, over http or https, and writes it as browsers do. Undefined for anything else, such as a
 * URL with credentials or a fragment.
 */
export function parseWebhookUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWritten = text.length <= maxWebhookUrlLength && hasSlashes.test(text) && !hasBlanks.test(text);
  return url !== undefined && isWritten && canBePostedTo(url) ? url.href : undefined;
}

function canBePostedTo({ username, password, hostname, port, hash }: URL): boolean {
  return username === "" && password === "" && hash === "" && hostForm.test(hostname) && port !== "0";
}

/** The largest file of settings, certificates or keys, in bytes. */
const maxFileBytes = 1024 * 1024;

/** Reads a small file that a value names, or a pipe. Throws a `Failure` if it cannot be read, or is larger than 1 MiB. */
export function readSmallFile(file: string): string {
  const bytes = Buffer.allocUnsafe(maxFileBytes + 1);
  const size = fill(bytes, file);
  if (size > maxFileBytes) {
    throw new Failure(`cannot read ${file}: it is larger than ${writeByteSize(maxFileBytes)}`);
  }
  return bytes.toString("utf8", 0, size);
}

/** Reads until the file ends, or the buffer is full. Returns the number of bytes. */
function fill(bytes: Buffer, file: string): number {
  try {
    const descriptor = openSync(file, "r");
    try {
      let size = 0;
      for (let read = -1; read !== 0; size += read) {
        read = readSync(descriptor, bytes, size, bytes.length - size, null);
      }
      return size;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EISDIR"
      ? new Failure(`cannot read ${file}: it is a folder`)
      : systemFailure(`read ${file}`, error);
  }
}
