import { describe, expect, it } from "vitest";
import { clientNetwork, createClientAddress } from "../../src/http/client-address.ts";
import { HeaderList } from "../../src/http/header-list.ts";
import { listenWith, openTo } from "./listening.ts";

describe("the client's address", () => {
  const cases: [what: string, trusted: string[], peer: string, forwardedFor: string | undefined, expected: string][] = [
    ["is the peer's, by default", [], "192.0.2.1", "198.51.100.1", "192.0.2.1"],
    ["is the peer's, when that is no trusted proxy", ["10.0.0.0/8"], "192.0.2.1", "198.51.100.1", "192.0.2.1"],
    ["is what a trusted proxy saw", ["10.0.0.0/8"], "10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["is not what the client wrote itself", ["10.0.0.0/8"], "10.1.2.3", "203.0.113.9, 198.51.100.1", "198.51.100.1"],
    ["is found behind several proxies", ["10.0.0.0/8"], "10.1.2.3", "198.51.100.1, 10.9.9.9", "198.51.100.1"],
    [
      "is found without spaces between the addresses",
      ["10.0.0.0/8"],
      "10.1.2.3",
      "198.51.100.1,10.9.9.9",
      "198.51.100.1",
    ],
    ["is the proxy's, when that names nobody", ["10.0.0.0/8"], "10.1.2.3", undefined, "10.1.2.3"],
    ["is the proxy's, when that names no address", ["10.0.0.0/8"], "10.1.2.3", "unknown", "10.1.2.3"],
    ["may have a port", ["10.0.0.0/8"], "10.1.2.3", "198.51.100.1:5555, 10.9.9.9:443", "198.51.100.1"],
    ["may have a port in IPv6", ["10.0.0.0/8"], "10.1.2.3", "[2001:db8::7]:443", "2001:db8::7"],
    ["may stand in brackets", ["10.0.0.0/8"], "10.1.2.3", "[2001:db8::7]", "2001:db8::7"],
    ["is the proxy's, when that names no address but a port", ["10.0.0.0/8"], "10.1.2.3", "unknown:443", "10.1.2.3"],
    ["may be of IPv4 in IPv6 form", ["10.0.0.0/8"], "::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["may be of IPv6", ["fd00::/8"], "fd00::1", "2001:db8::7", "2001:db8::7"],
    ["may come by one trusted address", ["10.1.2.3"], "10.1.2.3", "198.51.100.1", "198.51.100.1"],
  ];

  it.each(cases)("%s", (_what, trusted, peer, forwardedFor, expected) => {
    expect(createClientAddress(trusted).resolve(peer, forwardedFor)).toBe(expected);
  });
});

describe("the network that stands for a client", () => {
  const cases: [what: string, a: string, b: string, isSame: boolean][] = [
    ["is an IPv4 address", "192.0.2.1", "192.0.2.2", false],
    ["is the same for IPv4 in IPv6 form", "192.0.2.1", "::ffff:192.0.2.1", true],
    ["is the /64 of an IPv6 address", "2001:db8::1", "2001:db8::ffff:1", true],
    ["is another for another /64", "2001:db8::1", "2001:db8:0:1::1", false],
  ];

  it.each(cases)("%s", (_what, a, b, isSame) => {
    expect(clientNetwork(a) === clientNetwork(b)).toBe(isSame);
  });
});

describe("the client's scheme", () => {
  it.each<[what: string, trusted: string[], forwardedProto: string, expected: string]>([
    ["is the connection's, when the peer is no trusted proxy", ["10.0.0.0/8"], "https", "http"],
    ["is what a trusted proxy saw", ["127.0.0.1"], "https", "https"],
    ["is the connection's, when a trusted proxy names no other", ["127.0.0.1"], "wss", "http"],
  ])("%s", async (_what, trusted, forwardedProto, expected) => {
    const listener = await listenWith({
      clientAddress: createClientAddress(trusted),
      handle: (exchange) => exchange.respond({ status: 200, header: new HeaderList(), body: exchange.scheme }),
    });
    const client = await openTo(listener);
    const fields = ["Host: x", `X-Forwarded-Proto: ${forwardedProto}`, "Connection: close"];
    client.socket.write(`GET / HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
    await client.closed;
    expect(client.received().split("\r\n\r\n")[1]).toBe(expected);
  });
});
