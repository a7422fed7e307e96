import type { LookupAddress, LookupAllOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

/** A webhook leads to an address that is not public. Nothing was sent. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";

  constructor() {
    super("no public address (see --allow-private)");
  }
}

/**
 * Whether an address is that of a host on the public internet. IPv6 addresses that stand for IPv4 ones are not: they are
 * never needed, and hide others.
 */
export function isPublicAddress(address: string): boolean {
  // A zone leads to a link of this machine. Source: RFC 4007, 11
  if (!ipaddr.isValid(address) || address.includes("%")) {
    return false;
  }
  const parsed = ipaddr.parse(address);
  if (parsed.toString() === azurePlatform) {
    return false;
  }
  const isGlobal = parsed.kind() === "ipv4" || globalUnicast.some((network) => parsed.match(network));
  return isGlobal && parsed.range() === "unicast";
}

/** Every virtual machine of Azure reaches its platform there. Source: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16 */
const azurePlatform = "168.63.129.16";

/** Source: https://www.iana.org/assignments/ipv6-address-space */
const globalUnicast = [ipaddr.parseCIDR("2000::/3")];

/**
 * The host of a URL where that is an address, in whichever notation; undefined for a name. WHATWG's parser has made four
 * decimal numbers of an IPv4 address that was written in octal, in hexadecimal or as one number.
 */
export function literalAddress({ hostname }: URL): string | undefined {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isIP(host) === 0 ? undefined : host;
}

/** Whether a name stands for this machine. Source: RFC 6761, 6.3 */
export function isLocalName({ hostname }: URL): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

/** Looks up all addresses of a name: `lookup` of node:dns. */
export type LookUpAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Looks a name up for a connection, and gives it the addresses that are accepted: so what is judged is what is connected
 * to, whatever the name stands for at another time.
 */
export function createLookup(lookUpAll: LookUpAll, accepts: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookUpAll(hostname, { ...options, all: true }, (error, addresses) => {
      const open = error === null ? addresses.filter(({ address }) => accepts(address)) : [];
      const [first] = open;
      if (error !== null || first === undefined) {
        callback(error ?? new PrivateAddressError(), "", 0);
      } else if (options.all === true) {
        callback(null, open);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}
