import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { Code } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import { until } from "../support/deadline.ts";
import { amount, isLong } from "../support/long.ts";
import { memoryBytes } from "../support/process-usage.ts";
import { report } from "../support/report.ts";
import { envelope } from "../support/rpc-wire.ts";
import { startServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";
import { mebibyte, useAttackedServer } from "./attacked-server.ts";
import { expectServed } from "./bystander.ts";

const attacked = useAttackedServer(() => startServer("--trusted-proxy", "127.0.0.1/32"));

async function openSession(settings = {}): Promise<ClientHttp2Session> {
  const session = connect(attacked.server.origin, { settings }).on("error", () => {});
  await once(session, "remoteSettings");
  return session;
}

describe("streams without a key that stay open", () => {
  /** Watches the server's health from an address, and resolves to the status by which that is refused, or 0. */
  async function watch(session: ClientHttp2Session, address: string): Promise<number> {
    const path = "/grpc.health.v1.Health/Watch";
    const headers = { "content-type": "application/grpc", te: "trailers", "x-forwarded-for": address };
    const stream = session.request({ ":method": "POST", ":path": path, ...headers }, { endStream: false });
    stream.on("error", () => {}).end(envelope(Buffer.alloc(0)));
    return new Promise((resolve) => {
      stream.once("data", () => resolve(0));
      stream.once("trailers", (trailers) => resolve(Number(trailers["grpc-status"])));
    });
  }

  it("are 64 for a network, over all of its connections, and 1,024 in all", async () => {
    const sessions: ClientHttp2Session[] = [];
    const statuses = new Map<number, number>();
    const withstood = await attacked.withstand(async () => {
      for (let network = 0; network < 17; network++) {
        const both = [await openSession(), await openSession()];
        sessions.push(...both);
        const row = both.flatMap((session) => Array.from({ length: 35 }, () => watch(session, `192.0.2.${network}`)));
        const found = await Promise.all(row);
        expect(found.filter((status) => status === 0)).toHaveLength(network < 16 ? 64 : 0);
        for (const status of found) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }
    });
    expectServed(withstood.seen);
    expect(Object.fromEntries(statuses)).toEqual({
      0: 1_024,
      [Code.ResourceExhausted]: 16 * 6,
      [Code.Unavailable]: 70,
    });
    expect(withstood.grownMebibytes).toBeLessThan(250);
    for (const session of sessions) {
      session.destroy();
    }
    const last = await openSession();
    await until(async () => (await watch(last, "192.0.2.0")) === 0, 5_000);
    last.destroy();
    report("streams that stay open", { statuses: Object.fromEntries(statuses), ...withstood });
  });
});

describe("answers that are not taken", () => {
  it("hold no more than 128 streams of a connection, and others are served", async () => {
    const session = await openSession({ initialWindowSize: 0 });
    const ask = () =>
      session
        .request({ ":path": "/openapi.json" })
        .on("error", () => {})
        .pause();
    const { seen } = await attacked.withstand(async () => {
      const streams: ClientHttp2Stream[] = Array.from({ length: 128 }, ask);
      await Promise.all(streams.map((stream) => once(stream, "response")));
      const isOneMoreAnswered = vi.fn();
      ask().once("response", isOneMoreAnswered);
      for (let round = 0; round < 20; round++) {
        await expectUnharmed(attacked.server, attacked.key);
      }
      expect(isOneMoreAnswered).not.toHaveBeenCalled();
    });
    expect(session.remoteSettings.maxConcurrentStreams).toBe(128);
    expectServed(seen);
    session.destroy();
  });

  it.skipIf(!isLong)(
    "are given up after two minutes, though the connection is kept from being idle",
    async () => {
      const session = await openSession({ initialWindowSize: 0 });
      const stream = session.request({ ":path": "/openapi.json" }).on("error", () => {});
      const start = performance.now();
      await until(async () => {
        if (!session.destroyed) {
          session.ping(() => {});
        }
        return stream.destroyed;
      }, 130_000);
      expect(stream.rstCode).toBe(8);
      expect(performance.now() - start).toBeGreaterThan(115_000);
      session.destroy();
    },
    140_000,
  );
});

it("so many requests over one connection as anybody likes, 100 at a time, are all answered", async () => {
  const session = await openSession();
  const count = amount(2_000, 100_000);
  const before = memoryBytes(attacked.server.pid);
  let left = count;
  const ask = async () => {
    while (left-- > 0) {
      const stream = session.request({ ":path": "/v1/limits", authorization: `Bearer ${attacked.key}` });
      const [{ ":status": status }] = await once(stream, "response");
      expect(status).toBe(200);
      await once(stream.resume(), "close");
    }
  };
  await Promise.all(Array.from({ length: 100 }, ask));
  session.destroy();
  const grownMebibytes = (memoryBytes(attacked.server.pid) - before) / mebibyte;
  expect(grownMebibytes).toBeLessThan(250);
  report("streams of one connection, one after the other", { count, grownMebibytes });
}, 120_000);
