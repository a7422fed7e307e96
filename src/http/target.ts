import { isIPv6 } from "node:net";
import { ProtocolError } from "./protocol-error.ts";

/** The parts of a request target. Nothing is decoded or normalised. */
interface Target {
  readonly path: string;
  /** Without `?`; empty when there is none. */
  readonly query: string;
  /** The authority of a target in absolute form. */
  readonly authority: string | undefined;
}

/**
 * Parses a request target: `/path?query`, `http://authority/path?query`, or `*`.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function parseTarget(target: string): Target {
  const absolute = target.startsWith("/") ? null : /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  const origin = absolute === null ? target : (absolute[2] as string);
  const mark = origin.indexOf("?");
  const path = mark < 0 ? origin : origin.slice(0, mark);
  return {
    path: path === "" ? "/" : path,
    query: mark < 0 ? "" : origin.slice(mark + 1),
    authority: absolute?.[1],
  };
}

/**
 *     authority = host [ ":" *DIGIT ]
 *     host      = reg-name | "[" ( IPv6address | IPvFuture ) "]"
 *     reg-name  = 1*( unreserved | pct-encoded | sub-delims )
 *
 * An IPv4 address is a reg-name, too. RFC 9110 forbids userinfo (4.2.4) and an empty host (4.2.1).
 */
const authority =
  /^(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+|\[(?:([0-9A-Fa-f:.]+)|[vV][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\])(?::([0-9]*))?$/;

const maxPort = 65_535;

/** Whether the text is a host with an optional port, as in `Host` and `:authority`. Source: RFC 3986, 3.2. */
export function isAuthority(text: string): boolean {
  const match = authority.exec(text);
  if (match === null) {
    return false;
  }
  const [, ipv6, port = ""] = match;
  return (ipv6 === undefined || isIPv6(ipv6)) && Number(port) <= maxPort;
}

const defaultPorts: Readonly<Record<string, string>> = { http: ":80", https: ":443" };

/** Whether two authorities of a scheme are the same. Source: RFC 3986, sections 6.2.2.1 and 6.2.3 */
export function isSameAuthority(one: string, other: string, scheme: string | undefined): boolean {
  return one === other || normalized(one, scheme) === normalized(other, scheme);
}

/** An authority in lower case, without the scheme's own port. */
function normalized(text: string, scheme = ""): string {
  const port = /:\d*$/.exec(text)?.[0] ?? "";
  const isDefault = port === ":" || port === defaultPorts[scheme];
  return text.slice(0, isDefault ? -port.length : undefined).toLowerCase();
}

/** The last valid authority: nearly all requests have the same. */
let lastValid: string | undefined;

/** The error for this `Host` or `:authority`; undefined if it is valid. */
export function authorityFault(text: string | undefined): ProtocolError | undefined {
  if (text !== undefined && (text === lastValid || isAuthority(text))) {
    lastValid = text;
    return undefined;
  }
  return new ProtocolError("malformed", "The Host header is missing, or is not a host with an optional port.");
}

/** The host in a `Host` header, in lower case and without the port. Empty where it is malformed. */
export function hostOf(header: string): string {
  const [, ipv6, name = ""] = /^(?:\[(.*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? [];
  return (ipv6 ?? name).toLowerCase();
}
