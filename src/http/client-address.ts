import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Finds the address of the client behind trusted proxies. */
export interface ClientAddress {
  /** Whether this peer is a trusted proxy. */
  isTrusted(peer: string): boolean;
  /**
   * The nearest address that is not a trusted proxy's. `forwardedFor` is the header `X-Forwarded-For`. Each proxy adds
   * its peer at the end. The header is read from the end, so that what the client itself wrote there is never reached.
   */
  resolve(peer: string, forwardedFor: string | undefined): string;
}

/** `trustedProxies` are networks such as `10.0.0.0/8`, or single addresses. Throws if one is neither. */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const networks = trustedProxies.map(parseNetwork);

  function isTrusted(text: string): boolean {
    const address = parseAddress(text);
    return address !== undefined && networks.some((network) => contains(network, address));
  }

  return {
    isTrusted,
    resolve(peer, forwardedFor = "") {
      if (networks.length === 0 || !isTrusted(peer)) {
        return peer;
      }
      const hops = forwardedFor.split(",").map((hop) => hop.trim());
      let client = peer;
      while (hops.length > 0 && isTrusted(client)) {
        const hop = withoutPort(hops.pop() as string);
        if (parseAddress(hop) === undefined) {
          break;
        }
        client = hop;
      }
      return client;
    },
  };
}

/**
 * The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, because one subscriber gets a
 * whole /64. Returns a text that is no address unchanged.
 */
export function clientNetwork(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === undefined) {
    return address;
  }
  return parsed.kind() === "ipv4" ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(":");
}

function parseNetwork(text: string): Network {
  if (text.includes("/")) {
    return ipaddr.parseCIDR(text);
  }
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** An address with a port, as some proxies write it: `192.0.2.1:5555`, `[2001:db8::1]:443`; or in brackets alone. */
const addressWithPort = /^(?:([\d.]+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/;

function withoutPort(hop: string): string {
  const [, ipv4, ipv6] = addressWithPort.exec(hop) ?? [];
  return ipv4 ?? ipv6 ?? hop;
}

/** Parses an address. An IPv4-mapped IPv6 address becomes IPv4. Returns undefined if the text is no address. */
function parseAddress(text: string): Address | undefined {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isAddress ? ipaddr.process(text) : undefined;
}

function contains([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}
