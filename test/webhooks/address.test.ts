import type { LookupAddress } from "node:dns";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createFairLookup,
  createLookup,
  isLocalName,
  isPublicAddress,
  literalAddress,
  PrivateAddressError,
} from "../../src/webhooks/address.ts";

describe("an address", () => {
  it.each(["93.184.215.14", "1.1.1.1", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "223.255.255.1"])(
    "is public: %s",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.8",
    "192.168.1.1",
    "168.63.129.16",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:93.184.215.14",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001::1",
    "2001:db8::1",
    "2606:2800::1%eth0",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::808:808",
    "2001:20::1",
    "3fff::1",
    "192.88.99.1",
    "203.0.113.1",
    "fc00::1",
    "fe80::1",
    "ff02::1",
    "localhost",
    "",
  ])("is not public: %s", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("the host of a URL", () => {
  it.each([
    ["http://2130706433/", "127.0.0.1"],
    ["http://0177.0.0.1/", "127.0.0.1"],
    ["http://0x7f.1/", "127.0.0.1"],
    ["http://127.0.0.1./", "127.0.0.1"],
    ["http://[::1]/", "::1"],
    ["http://[::ffff:10.0.0.1]/", "::ffff:a00:1"],
    ["https://receiver.example/", undefined],
  ])("of %s is the address %s", (url, address) => {
    expect(literalAddress(new URL(url))).toBe(address);
  });

  it.each([
    ["http://localhost/", true],
    ["http://localhost./", true],
    ["http://shop.localhost/", true],
    ["http://localhost.example/", false],
  ])("%s is a name of this machine: %s", (url, isLocal) => {
    expect(isLocalName(new URL(url))).toBe(isLocal);
  });
});

describe("a look-up", () => {
  const lookUp = (addresses: readonly string[], all: boolean) =>
    new Promise((resolve) => {
      const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      const look = createLookup((_name, _options, callback) => callback(null, found), isPublicAddress);
      look("receiver.example", { all }, (error, address, family) => resolve(error ?? [address, family]));
    });

  it("gives a connection the public addresses alone", async () => {
    expect(await lookUp(["10.0.0.1", "93.184.215.14", "::1"], true)).toEqual([
      [{ address: "93.184.215.14", family: 4 }],
      undefined,
    ]);
    expect(await lookUp(["10.0.0.1", "93.184.215.14"], false)).toEqual(["93.184.215.14", 4]);
  });

  it("fails where there is no public address", async () => {
    expect(await lookUp(["127.0.0.1", "::1"], true)).toBeInstanceOf(PrivateAddressError);
    expect(await lookUp([], true)).toBeInstanceOf(PrivateAddressError);
  });
});

describe("a fair look-up", () => {
  /** How long the system looks for a dead name, and for any other, in milliseconds. */
  const [deadMs, wellMs] = [20_000, 10];

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** The system's look-ups, two at a time; and how often each name was looked up. */
  function createSystem() {
    const asked: string[] = [];
    const waiting: (() => void)[] = [];
    let running = 0;
    function begin(): void {
      while (running < 2 && waiting.length > 0) {
        running += 1;
        waiting.shift()?.();
      }
    }
    const lookUp = createFairLookup((name, _options, callback) => {
      waiting.push(() => {
        asked.push(name);
        const isDead = name.startsWith("dead");
        setTimeout(
          () => {
            running -= 1;
            begin();
            if (isDead) {
              callback(Object.assign(new Error("unknown"), { code: "EAI_AGAIN" }), []);
            } else {
              callback(null, [{ address: "203.0.113.7", family: 4 }]);
            }
          },
          isDead ? deadMs : wellMs,
        );
      });
      begin();
    });
    const find = (name: string) =>
      new Promise<LookupAddress[]>((resolve, reject) => {
        lookUp(name, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
      });
    return { find, asked };
  }

  it("looks a name up once for all who ask meanwhile, and again for who asks later", async () => {
    const { find, asked } = createSystem();
    const found = Promise.all([find("well"), find("well"), find("other")]);
    await vi.advanceTimersByTimeAsync(wellMs);
    expect(await found).toEqual(Array(3).fill([{ address: "203.0.113.7", family: 4 }]));
    void find("well");
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).toEqual(["well", "other", "well"]);
  });

  it("tells every one who asks that a name cannot be looked up", async () => {
    const { find } = createSystem();
    const failures = Promise.allSettled([find("dead"), find("dead")]);
    await vi.advanceTimersByTimeAsync(deadMs);
    expect((await failures).map((outcome) => (outcome as PromiseRejectedResult).reason.code)).toEqual([
      "EAI_AGAIN",
      "EAI_AGAIN",
    ]);
  });

  it("tells a failure that the system throws, and looks the name up again", async () => {
    const lookUp = createFairLookup((name, _options, callback) => {
      if (name === "bad.example") {
        throw new TypeError("no such name");
      }
      callback(null, []);
    });
    const ask = (name: string) =>
      new Promise((resolve) => {
        lookUp(name, { all: true }, resolve);
      });
    for (const name of ["bad.example", "bad.example", "good.example"]) {
      expect(await ask(name)).toEqual(name === "bad.example" ? new TypeError("no such name") : null);
    }
  });

  it("has dead names hold up no other, once they were slow", async () => {
    const { find, asked } = createSystem();
    const dead = ["dead.1", "dead.2", "dead.3"];
    const first = Promise.allSettled(dead.map(find));
    await vi.advanceTimersByTimeAsync(2 * deadMs);
    await first;
    const second = Promise.allSettled(dead.map(find));
    const well = find("well");
    await vi.advanceTimersByTimeAsync(wellMs);
    expect(await well).toHaveLength(1);
    expect(asked.slice(3).sort()).toEqual(["dead.1", "well"]);
    await vi.advanceTimersByTimeAsync(3 * deadMs);
    expect((await second).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  it("does not take a name for slow that had to wait for dead ones", async () => {
    const { find } = createSystem();
    const names = ["dead.1", "dead.2", "dead.3", "well"];
    const first = Promise.allSettled(names.map(find));
    await vi.advanceTimersByTimeAsync(2 * deadMs);
    await first;
    const dead = Promise.allSettled(names.slice(0, 3).map(find));
    let found: readonly LookupAddress[] | undefined;
    void find("well").then((addresses) => {
      found = addresses;
    });
    await vi.advanceTimersByTimeAsync(wellMs);
    expect(found).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3 * deadMs);
    await dead;
  });

  it("asks the system for no more names at once than it looks up", async () => {
    const started: string[] = [];
    const lookUp = createFairLookup((name) => void started.push(name));
    for (const name of ["dead.1", "dead.2", "well"]) {
      lookUp(name, { all: true }, () => {});
    }
    await vi.advanceTimersByTimeAsync(deadMs);
    expect(started).toEqual(["dead.1", "dead.2"]);
  });
});
