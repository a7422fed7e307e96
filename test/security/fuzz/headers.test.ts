import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { describe, expect } from "vitest";
import { chooseCoding, matchesEtag } from "../../../src/gateway/negotiation.ts";
import { assertJsonBody } from "../../../src/gateway/rest-call.ts";
import { clientNetwork, createClientAddress } from "../../../src/http/client-address.ts";
import { type Exchange, readRequestId } from "../../../src/http/exchange.ts";
import type { ProtocolError } from "../../../src/http/protocol-error.ts";
import { isAuthority } from "../../../src/http/target.ts";
import { readTimeout } from "../../../src/rpc/rpc-protocol.ts";
import type { Random } from "../../support/random.ts";
import { fuzz } from "./cases.ts";
import { maxHeaderLength, mutated } from "./mutate.ts";
import { expectMalformed, refusalOf } from "./refusal.ts";
import { headerTokens, numberTokens, unicodeTokens, urlTokens } from "./tokens.ts";

const tokens = [...headerTokens, ...numberTokens, ...unicodeTokens, ...urlTokens];
const count = { usual: 1_000, long: 30_000 };

function header(random: Random, ...corpus: string[]): string {
  return mutated(random, { tokens, corpus, maxLength: maxHeaderLength });
}

describe("X-Forwarded-For", () => {
  const proxy = "10.1.2.3";
  const clients = createClientAddress(["10.0.0.0/8", "fd00::/8"]);
  const sent = ["203.0.113.9", "2001:db8::1, 10.0.0.1", "10.0.0.1,fd00::1", "::ffff:10.0.0.1, 1.2.3.4:80", "unknown"];

  fuzz("that a client wrote itself is never believed", count, (random) => {
    const client = random.pick(["198.51.100.7", "2001:db8:1::7"]);
    expect(clients.resolve(proxy, `${header(random, ...sent)}, ${client}`)).toBe(client);
    expect(clients.resolve(client, header(random, ...sent))).toBe(client);
  });

  fuzz("names the peer or the address of one of its own entries, and is counted by something", count, (random) => {
    const forwardedFor = header(random, ...sent);
    const address = clients.resolve(proxy, forwardedFor);
    const hops = forwardedFor.split(",").map((hop) => hop.trim());
    // An entry may have a port.
    const isNamed = (hop: string) => hop === address || hop.startsWith(`${address}:`) || hop.startsWith(`[${address}]`);
    expect(address === proxy || hops.some(isNamed), `${address} of ${forwardedFor}`).toBe(true);
    expect(clientNetwork(address)).not.toBe("");
    expect(clients.isTrusted(address)).toBeTypeOf("boolean");
  });
});

describe("Host", () => {
  const hosts = ["api.example:8080", "127.0.0.1", "[::1]:80", "[v1.a:b]", "a%20b", "[1:2:3:4:5:6:7:8]"];

  fuzz("holds nothing that could end it, where it is taken", count, (random) => {
    const host = header(random, ...hosts);
    if (isAuthority(host)) {
      expect(host).toMatch(/^[!$%&'()*+,;=:.~_[\]A-Za-z0-9-]+$/);
    }
  });
});

describe("Accept-Encoding", () => {
  fuzz("has a coding chosen that it names", count, (random) => {
    const accepted = header(random, "gzip, deflate, br", "br;q=0.5, gzip;q=1.0", "identity;q=0, *;q=0.1", "x-gzip");
    const coding = chooseCoding(accepted);
    if (coding !== undefined) {
      expect(accepted.toLowerCase().includes(coding) || accepted.includes("*")).toBe(true);
    }
  });
});

describe("If-None-Match", () => {
  const etag = 'W/"1a.2b"';

  fuzz("names the version that it is said to name", count, (random) => {
    const known = header(random, etag, '"1a.2b"', '"a", W/"b", "c,d"', "*");
    if (matchesEtag(known, etag)) {
      expect(known.includes('"1a.2b"') || known.trim() === "*").toBe(true);
    } else {
      expect(known).not.toBe(etag);
    }
  });
});

describe("a deadline", () => {
  checkTimeouts("grpc-timeout", parseGrpcTimeout, {
    corpus: ["100m", "99999999H", "5S", "1n", "0u"],
    form: /^\d{1,8}[HMSmun]$/,
  });
  checkTimeouts("connect-timeout-ms", parseConnectTimeout, { corpus: ["100", "9999999999", "0"], form: /^\d{1,10}$/ });

  interface Form {
    readonly corpus: string[];
    readonly form: RegExp;
  }

  function checkTimeouts(name: string, parse: Parameters<typeof readTimeout>[1], { corpus, form }: Form): void {
    fuzz(`by ${name} is what a timer can hold, or malformed`, count, (random, refused) => {
      const value = header(random, ...corpus);
      const { timeoutMs, assertValid } = readTimeout(value, parse);
      const refusal = refusalOf(assertValid);
      expect(refusal === undefined, JSON.stringify(value.slice(0, 100))).toBe(form.test(value));
      if (refusal !== undefined) {
        refused();
        expectMalformed(refusal);
        expect(timeoutMs).toBeUndefined();
        return;
      }
      expect(timeoutMs).toBeGreaterThanOrEqual(0);
      expect(timeoutMs).toBeLessThan(2 ** 31);
    });
  }
});

describe("Content-Type", () => {
  fuzz("is JSON in UTF-8, or refused", count, (random, refused) => {
    const type = header(
      random,
      "application/json",
      'application/json; charset="utf-8"',
      "application/json;a=b;charset=utf-8",
    );
    const exchange = { header: (name: string) => (name === "content-type" ? type : undefined) } as Exchange;
    const refusal = refusalOf(() => assertJsonBody(exchange));
    if (refusal === undefined) {
      expect(type.trim()).toMatch(/^(application\/json|$)/i);
    } else {
      refused();
      expect((refusal as ProtocolError).kind).toBe("unsupported_media_type");
    }
  });
});

describe("X-Request-Id", () => {
  fuzz("can stand in a header and a log, whoever made it", count, (random) => {
    const lines = Array.from({ length: random.below(3) }, () =>
      header(random, "abc-123", "0af7651916cd43dd.8448eb21_1"),
    );
    const id = readRequestId(lines.length === 0 ? undefined : lines.join(", "), () => false);
    expect(id).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    expect(id === lines[0] || lines.length !== 1 || !/^[\w.-]{1,128}$/.test(lines[0] ?? "")).toBe(true);
  });
});
