import { BlockList, isIPv6 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Whether an address is one that only this machine itself reaches. False for what is no address. */
export function isLoopback(address: string): boolean {
  return loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** The host that a `Host` names, without a port and in lower case. Empty where it is malformed. */
export function hostOf(header: string): string {
  const [, ipv6, name = ""] = /^(?:\[(.*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? [];
  return (ipv6 ?? name).toLowerCase();
}
