import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { inMemory } from "../../server/config.ts";
import { parseWholeNumber } from "./number.ts";

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

/** The number of a database, as a path: those of a default configuration are 0 to 15. */
const databasePath = /^\/?(\d{1,5})?$/;

/** The forms of where limits are counted. Completes the sentence `It must be …`. */
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

/** WHATWG's parser also takes `http:host`, and a URL without a host. */
const hasSlashes = /^https?:\/\/[^/?#\\]/i;

/** WHATWG's parser leaves out line breaks and tabs, and cuts spaces off. */
const hasBlanks = /[\0- \x7f]/;

/**
 * Reads the URL of a webhook, over http or https, and writes it as browsers do. Undefined for anything else, such as a
 * URL with credentials or a fragment.
 */
export function parseWebhookUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  const isPlain = url !== undefined && url.username === "" && url.password === "" && url.hash === "";
  return isHttp && isPlain && text.length <= maxWebhookUrlLength && hasSlashes.test(text) && !hasBlanks.test(text)
    ? url.href
    : undefined;
}
