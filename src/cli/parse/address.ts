import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
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
