import type { LookupAddress, LookupAllOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { Lane } from "../scheduling/lane.ts";

/** A webhook leads to an address that is not public. Nothing was sent. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";

  constructor() {
    super("its address is not public (see --allow-private)");
  }
}

/**
 * Whether an address is that of a host on the public internet. IPv6 addresses that stand for IPv4 ones are refused:
 * nobody needs them, and they hide other addresses.
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
 * The host of a URL if it is an address; undefined for a name. WHATWG's parser has already turned an IPv4 address in
 * octal, in hexadecimal or as one number into four decimal numbers.
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
export type LookUpAll = (hostname: string, options: LookupAllOptions, callback: LookUpCallback) => void;

type LookUpCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * Looks up a name for a connection, and returns only the accepted addresses. So the connection leads to an address that
 * was checked, even if the name later stands for another one.
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

/** A name that takes longer to look up is slow, in milliseconds. */
const slowMs = 1_000;

/**
 * How many look-ups libuv runs at once: half of its threads, rounded up. It lets others wait. Source:
 * https://docs.libuv.org/en/v1.x/threadpool.html
 */
const lookupsAtOnce = Math.ceil((Number(process.env.UV_THREADPOOL_SIZE) || 4) / 2);

/**
 * Shares the system's look-ups fairly. By default, the process can run only two look-ups at once, and the look-up of a dead name
 * may take 20 s. So requests for the same name share one look-up. Names that were slow before are looked up one at a
 * time, which leaves a place to the other names. The wait for a place does not make a name slow.
 */
export function createFairLookup(lookUpAll: LookUpAll): LookUpAll {
  const asking = new Map<string, LookUpCallback[]>();
  const slowNames = new Set<string>();
  const lookups = new Lane({ width: lookupsAtOnce });
  const slowLookups = new Lane({ width: 1 });

  /** Looks up a name when a place is free. Resolves at the end. */
  function lookUp(name: string, options: LookupAllOptions): Promise<void> {
    return lookups.run(1, () => new Promise((resolve) => start(name, options, resolve)));
  }

  function start(name: string, options: LookupAllOptions, ended: () => void): void {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slowNames.add(name);
    }, slowMs).unref();
    const end: LookUpCallback = (error, addresses) => {
      clearTimeout(timer);
      if (!isSlow) {
        slowNames.delete(name);
      }
      const callbacks = asking.get(name) ?? [];
      asking.delete(name);
      ended();
      for (const callback of callbacks) {
        callback(error, addresses);
      }
    };
    try {
      lookUpAll(name, options, end);
    } catch (error) {
      end(error as NodeJS.ErrnoException, []);
    }
  }

  return (name, options, callback) => {
    const others = asking.get(name);
    if (others !== undefined) {
      others.push(callback);
      return;
    }
    asking.set(name, [callback]);
    if (slowNames.has(name)) {
      void slowLookups.run(1, () => lookUp(name, options));
    } else {
      void lookUp(name, options);
    }
  };
}
