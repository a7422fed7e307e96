import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Reads a range of addresses such as `10.0.0.0/8`; a single address stands for the range of itself. */
export function parseCidr(text: string): string | undefined {
  const [address = ""] = text.split("/");
  const version = isIP(address);
  // ipaddr.js also takes addresses in octal and with parts left out, which mean different things to different programs.
  if (version === 0) {
    return undefined;
  }
  const range = text.includes("/") ? text : `${text}/${version === 4 ? 32 : 128}`;
  return ipaddr.isValidCIDR(range) ? range : undefined;
}
