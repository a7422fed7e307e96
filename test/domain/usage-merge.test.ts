import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countIn, decide, noUsage, type Usage } from "../../src/domain/limits.ts";
import { mergeUsage } from "../../src/domain/usage-merge.ts";

const unlimited = { quota: { perMinute: 1e9, perDay: 1e9 }, unbans: 0 };
const minuteMs = 60_000;

/** A server that counts requests, and saves what it has counted. */
class Server {
  base: Usage = noUsage;
  usage: Usage = noUsage;
  atMs = 0;

  request(nowMs: number): void {
    this.usage = decide(this.usage, unlimited, nowMs).usage;
    this.atMs = nowMs;
  }

  /** Returns what is stored then. */
  save(stored: Usage): Usage {
    return mergeUsage(stored, this);
  }

  goOnFrom(stored: Usage): void {
    this.base = stored;
    this.usage = stored;
  }
}

describe("merged usage", () => {
  const dayMs = 24 * 60 * minuteMs;
  const dayOf = (count: number, openedAtMs = 5) => ({ ...noUsage, day: { openedAtMs, count } });

  it.each<[what: string, stored: Usage, base: Usage, ours: Usage, merged: Usage]>([
    ["the server's own, where nobody else has stored any", noUsage, noUsage, dayOf(50), dayOf(50)],
    ["the server's own, where others have left the base alone", dayOf(50), dayOf(50), dayOf(3, 9e8), dayOf(3, 9e8)],
    ["the sum of what two have counted", dayOf(50), noUsage, dayOf(40), dayOf(90)],
    ["the stored count and what was added to the base", dayOf(70), dayOf(50), dayOf(55), dayOf(75)],
    ["of two windows that overlap one, from the earlier opening", dayOf(2, 100), noUsage, dayOf(3, 40), dayOf(5, 40)],
    ["the stored window, where the server's has closed before it", dayOf(2, 9e8), noUsage, dayOf(3), dayOf(2, 9e8)],
    ["the server's window, where the stored one has closed before it", dayOf(2), noUsage, dayOf(3, 9e8), dayOf(3, 9e8)],
    [
      "the stored window, where the server's closes as it opens",
      dayOf(2, 5 + dayMs),
      noUsage,
      dayOf(3),
      dayOf(2, 5 + dayMs),
    ],
    [
      "the server's window, where the stored one closes as it opens",
      dayOf(2),
      noUsage,
      dayOf(3, 5 + dayMs),
      dayOf(3, 5 + dayMs),
    ],
    ["the stored window, where the server's has closed", dayOf(7), dayOf(5), noUsage, dayOf(7)],
    ["the window moved back with a server's clock", dayOf(7, 100), dayOf(5, 100), dayOf(6, 40), dayOf(8, 40)],
  ])("is %s", (_, stored, base, usage, merged) => {
    expect(mergeUsage(stored, { base, usage, atMs: 9 })).toEqual(merged);
  });

  it("keeps the ban that ends later", () => {
    const [short, long] = [1, 2].map((step) => ({ ...noUsage, ban: { step, endsAtMs: 1_000 * step } })) as [
      Usage,
      Usage,
    ];
    expect(mergeUsage(short, { base: noUsage, usage: long, atMs: 9 })).toEqual(long);
    expect(mergeUsage(long, { base: noUsage, usage: short, atMs: 9 })).toEqual(long);
    expect(mergeUsage(long, { base: short, usage: dayOf(1), atMs: 9 }).ban).toEqual(long.ban);
  });

  it("lifts the ban of the side that has not seen an unban, and drops its refusals", () => {
    const banned = { ...noUsage, ban: { step: 3, endsAtMs: 9_000 }, refusals: { openedAtMs: 1, count: 7 } };
    const unbanned = { ...dayOf(1), unbans: 1 };
    const merged = { ...unbanned, ban: { step: 3, endsAtMs: 500 } };
    expect(mergeUsage(banned, { base: noUsage, usage: unbanned, atMs: 500 })).toEqual(merged);
    expect(mergeUsage(unbanned, { base: noUsage, usage: banned, atMs: 500 })).toEqual(merged);
  });

  it("is what one server alone would have counted, over all windows, where servers save and go on together", () => {
    const rounds = fc.array(
      fc.record({
        pauseMs: fc.oneof(fc.nat(2 * minuteMs), fc.nat(1_000), fc.constantFrom(minuteMs, 24 * 60 * minuteMs)),
        requests: fc.array(fc.record({ server: fc.nat(2), afterMs: fc.nat(100) }), { minLength: 1, maxLength: 8 }),
        order: fc.shuffledSubarray([0, 1, 2], { minLength: 3 }),
      }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(rounds, (given) => {
        const servers = [new Server(), new Server(), new Server()];
        const alone = new Server();
        let stored = noUsage;
        let nowMs = 1_700_000_000_000;
        for (const { pauseMs, requests, order } of given) {
          nowMs += pauseMs;
          for (const { server, afterMs } of requests) {
            nowMs += afterMs;
            servers[server]?.request(nowMs);
            alone.request(nowMs);
          }
          for (const index of order) {
            stored = (servers[index] as Server).save(stored);
          }
          for (const server of servers) {
            server.goOnFrom(stored);
          }
          expect(stored).toEqual(alone.usage);
        }
      }),
    );
  });

  it("loses no request of a window, whichever server saves when", () => {
    const steps = fc.array(fc.record({ server: fc.nat(2), saves: fc.boolean(), afterMs: fc.nat(500) }), {
      maxLength: 100,
    });
    fc.assert(
      fc.property(steps, (given) => {
        const servers = [new Server(), new Server(), new Server()];
        let window = undefined as Usage["day"];
        let stored = noUsage;
        let nowMs = 1_700_000_000_000;
        const save = (server: Server) => {
          stored = server.save(stored);
          server.goOnFrom(stored);
        };
        for (const { server, saves, afterMs } of given) {
          nowMs += afterMs;
          const one = servers[server] as Server;
          one.request(nowMs);
          window = countIn(window, nowMs);
          if (saves) {
            save(one);
          }
        }
        servers.forEach(save);
        expect(stored).toMatchObject({ minute: window, day: window });
      }),
    );
  });
});
