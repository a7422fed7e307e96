import { BlockList, isIPv6 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Whether an address is one that only this machine itself reaches. False for what is no address. */
export function isLoopback(address: string): boolean {
  return loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
