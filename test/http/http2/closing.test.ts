import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ErrorCode } from "../../../src/http/http2/frames.ts";
import { endHeaders, endStream, frame, preface, requestFrame } from "../../security/http2-frames.ts";
import {
  type BareClient,
  connectBare,
  goAwayFrame,
  openBare,
  postFrame,
  resetFrame,
  settingsFrame,
  windowFrame,
} from "./bare-client.ts";
import { ask, connectNode, echo, readAll, type Served, serve } from "./served.ts";

const get = (stream = 1) => requestFrame({ ":path": "/" }, stream);
const data = (stream: number, flags = 0) => frame("data", { stream, flags, payload: Buffer.from("body") });

/** The last stream and the code of each GOAWAY that has come. */
function goAways(client: BareClient): [lastStream: number, code: number][] {
  return client.frames
    .filter(({ type }) => type === "goAway")
    .map(({ payload }) => [payload.readUInt32BE(), payload.readUInt32BE(4)]);
}

/** A connection with stream 1 under way, that the server has begun to close. */
async function closing(): Promise<[Served, BareClient]> {
  const served = await serve(echo);
  const client = await openBare(served, postFrame());
  await client.settle();
  served.connections[0]?.close();
  await client.find({ type: "goAway" });
  return [served, client];
}

describe("a connection that the server closes", () => {
  it("ends at once, if it has no streams", async () => {
    const served = await serve();
    const client = await openBare(served);
    await client.settle();
    served.connections[0]?.close();
    await client.closed;
    expect(goAways(client)).toEqual([[0, 0]]);
  });

  it("tells its client once which streams it handles, finishes them, and ends", async () => {
    const [served, client] = await closing();
    served.connections[0]?.close();
    client.send(data(1, endStream));
    await client.closed;
    expect(client.bodyOf(1).toString()).toBe("body");
    expect(goAways(client)).toEqual([[1, 0]]);
  });

  it("ignores later streams, with their bodies and trailers", async () => {
    const [served, client] = await closing();
    const trailer = frame("headers", { stream: 3, flags: endHeaders | endStream });
    client.send(postFrame(3), data(3), trailer, get(5), windowFrame(1, 5), data(1, endStream));
    await client.closed;
    expect(served.streams.map(({ id }) => id)).toEqual([1]);
    expect(client.frames.filter(({ stream }) => stream > 1)).toEqual([]);
    expect(client.bodyOf(1).toString()).toBe("body");
  });

  it("names no later stream, if it then has to be ended for a fault", async () => {
    const [, client] = await closing();
    client.send(get(9), windowFrame(0));
    await client.closed;
    expect(goAways(client)).toEqual([
      [1, ErrorCode.noError],
      [1, ErrorCode.protocolError],
    ]);
  });

  it("lets Node's client finish what it has begun, with a body of any size", async () => {
    const served = await serve(echo);
    const session = await connectNode(served);
    const body = Buffer.alloc(1_000_000, "body");
    const answer = ask(session, { ":method": "POST" }, body);
    while (served.streams.length === 0) {
      await setImmediate();
    }
    served.connections[0]?.close();
    expect((await answer).body.equals(body)).toBe(true);
    await once(session, "close");
  });
});

describe("a connection that its client closes", () => {
  it("finishes the streams under way, and ends", async () => {
    const served = await serve(echo);
    const client = await openBare(served, postFrame(), goAwayFrame());
    await client.find({ type: "goAway" });
    client.send(data(1, endStream));
    await client.closed;
    expect(client.bodyOf(1).toString()).toBe("body");
  });

  it("ends at once without any", async () => {
    const client = await openBare(await serve(), goAwayFrame());
    await client.closed;
    expect(goAways(client)).toEqual([[0, 0]]);
  });

  it("keeps nothing more for each further GOAWAY", async () => {
    const served = await serve();
    const client = await openBare(served, postFrame(), goAwayFrame());
    await client.settle();
    const before = served.sockets[0]?.listenerCount("close");
    client.send(...Array.from({ length: 20 }, () => goAwayFrame()));
    await client.settle();
    expect(served.sockets[0]?.listenerCount("close")).toBe(before);
  });

  it("closes its streams without a GOAWAY, too", async () => {
    const aborted: boolean[] = [];
    const served = await serve(async (stream) => {
      await expect(readAll(stream)).rejects.toThrow();
      aborted.push(stream.isClosed);
    });
    const client = await openBare(served, postFrame(1), postFrame(3));
    await client.settle();
    client.socket.destroy();
    while (aborted.length < 2) {
      await setImmediate();
    }
    expect(aborted).toEqual([true, true]);
    expect(served.openCount()).toBe(0);
  });
});

/** Lets so many seconds pass for the timers, which are fake, and for the connections. */
function advance({ connections }: Served, seconds: number): void {
  vi.advanceTimersByTime(1_000 * seconds);
  for (let passed = 0; passed < seconds; passed += 1) {
    connections[0]?.tick();
  }
}

describe.each<[side: string, close: (client: BareClient, served: Served) => void]>([
  ["its client", (client) => client.send(goAwayFrame())],
  ["the server", (_client, served) => served.connections[0]?.close()],
])("a connection that %s closes, and whose client reads slowly", (_side, close) => {
  it.each([
    ["more than the system holds", 20_000_000],
    ["all of which the system holds", 1_000_000],
  ])("gives its last answer to the end: %s", async (_what, bytes) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const body = Buffer.alloc(bytes);
    const served = await serve((stream) => {
      stream.respond(200, [], false);
      stream.endWith(body, body.length);
    });
    const client = await openBare(served, settingsFrame([4, 2 ** 30]), windowFrame(2 ** 30));
    await client.settle();
    client.socket.pause();
    client.send(get());
    while (served.streams.length === 0) {
      await setImmediate();
    }
    close(client, served);
    while (served.openCount() > 0) {
      client.socket.read();
      await setImmediate();
    }
    await pause(20);
    advance(served, 30);
    await pause(20);
    // It tells that there is more room, as clients do when they have read.
    client.send(windowFrame(1));
    await pause(20);
    client.socket.resume();
    await client.closed;
    expect(client.bodyOf(1).length).toBe(body.length);
  });

  it("ends if it reads nothing more, whatever it sends", async () => {
    const served = await serve((stream) => {
      stream.respond(200, [], false);
      stream.endWith("body", 4);
    });
    const client = await openBare(served, get());
    client.socket.allowHalfOpen = true;
    await client.find({ type: "data" });
    close(client, served);
    await once(client.socket, "end");
    const [socket] = served.sockets as [Socket];
    for (let seconds = 0; seconds < 120; seconds += 1) {
      served.connections[0]?.tick();
      if (seconds % 20 === 0) {
        client.send(frame("ping", { payload: Buffer.alloc(8) }));
        await pause(5);
      }
    }
    expect(socket.destroyed).toBe(true);
  });
});

describe("a connection that is silent", () => {
  it("ends if its client does not begin in time", async () => {
    const client = await connectBare(await serve(undefined, 50));
    await client.closed;
    expect(goAways(client)).toEqual([[0, 0]]);
  });

  it.each([
    ["the preface", preface],
    ["the preface and of a frame that is none of settings", Buffer.concat([preface, Buffer.alloc(9)])],
  ])("ends, too, if its client sends one byte after the other of %s", async (_what, bytes) => {
    const client = await connectBare(await serve(undefined, 200));
    let sent = 0;
    const dripping = setInterval(() => client.send(bytes.subarray(sent, ++sent)), 20);
    onTestFinished(() => clearInterval(dripping));
    await client.closed;
    expect(sent).toBeLessThan(bytes.length);
    expect(goAways(client)).toEqual([[0, 0]]);
  });

  it("may be so for 65 seconds once its client has begun", async () => {
    const served = await serve(undefined, 1_000);
    const client = await openBare(served);
    await client.settle();
    expect(served.sockets[0]?.timeout).toBe(65_000);
    await pause(1_100);
    await client.settle();
  });

  it("ends without streams, and otherwise after them", async () => {
    const served = await serve(echo);
    const [idle, busy] = [await openBare(served), await openBare(served, postFrame())] as const;
    await Promise.all([idle.settle(), busy.settle()]);
    for (const socket of served.sockets) {
      // As the system's timer does.
      socket.emit("timeout");
    }
    await idle.closed;
    busy.send(data(1, endStream));
    await busy.closed;
    expect(busy.bodyOf(1).toString()).toBe("body");
    expect([goAways(idle), goAways(busy)]).toEqual([[[0, 0]], [[1, 0]]]);
  });
});

describe("a connection whose client takes its calls back", () => {
  /** Opens 1,500 streams, 100 at a time, and resets them after `wait`. */
  async function cancelMany(client: BareClient, wait: () => Promise<unknown>): Promise<void> {
    for (let first = 1; first < 3_000; first += 200) {
      const ids = Array.from({ length: 100 }, (_, at) => first + 2 * at);
      client.send(...ids.map((id) => postFrame(id)));
      await wait();
      client.send(...ids.map((id) => resetFrame(id)));
      await client.settle();
    }
  }

  it("goes on, if it has waited for the answers for a while", async () => {
    const served = await serve();
    const client = await openBare(served);
    await cancelMany(client, async () => {
      await client.settle();
      await pause(15);
    });
    expect(served.streams).toHaveLength(1_500);
    expect(served.openCount()).toBe(0);
  });

  it("goes on, if the answers have begun", async () => {
    const served = await serve((stream) => stream.respond(200, [], false));
    const client = await openBare(served);
    await cancelMany(client, () => client.settle());
    expect(served.openCount()).toBe(0);
  });

  it("goes on, if the answers are complete", async () => {
    const served = await serve((stream) => {
      stream.respond(204, [], true);
      stream.endRequest();
    });
    const client = await openBare(served);
    await cancelMany(client, () => client.settle());
    expect(served.openCount()).toBe(0);
  });

  it("ends, if it resets closed streams without end", async () => {
    const served = await serve((stream) => stream.respond(204, [], true));
    const client = await openBare(served, get());
    await client.find({ type: "headers", stream: 1 });
    client.send(...Array<Buffer>(15_000).fill(resetFrame(1)));
    expect(await client.endCode()).toBe(ErrorCode.enhanceYourCalm);
  });

  it("ends, if it takes each back at once", async () => {
    const served = await serve();
    const client = await openBare(served);
    await expect(
      (async () => {
        for (let id = 1; id < 3_000; id += 2) {
          client.send(get(id), resetFrame(id));
          await (id % 201 === 0 ? client.settle() : undefined);
        }
        await client.settle();
      })(),
    ).rejects.toThrow();
    expect(await client.endCode()).toBe(ErrorCode.enhanceYourCalm);
    expect(served.streams.length).toBeGreaterThanOrEqual(1_000);
  });
});

describe("a connection that is ended", () => {
  it("closes all of its streams, and calls their listeners once", async () => {
    const closed: number[] = [];
    const served = await serve((stream) => {
      stream.onClose(() => closed.push(stream.id));
      stream.respond(200, [], false);
      stream.write(Buffer.alloc(200_000));
    });
    const client = await openBare(served, settingsFrame([4, 1]), get(1), postFrame(3), get(5));
    await client.settle();
    served.connections[0]?.end(ErrorCode.internalError, "why");
    served.connections[0]?.end(ErrorCode.noError);
    await client.closed;
    expect(closed.toSorted((a, b) => a - b)).toEqual([1, 3, 5]);
    expect(served.openCount()).toBe(0);
    expect(goAways(client)).toEqual([[5, ErrorCode.internalError]]);
  });

  it("looks at no frame behind the one that ended it", async () => {
    const served = await serve();
    const client = await openBare(served, get(1), windowFrame(0), get(3));
    expect(await client.endCode()).toBe(ErrorCode.protocolError);
    expect(served.streams).toHaveLength(1);
  });

  it("takes answers that come too late, and sends nothing of them", async () => {
    const served = await serve();
    const client = await openBare(served, get(1));
    await client.settle();
    served.connections[0]?.end(ErrorCode.noError);
    served.streams[0]?.respond(200, [], false);
    served.streams[0]?.endWith("late", 4, ["x-a", "b"]);
    await client.closed;
    expect(client.frames.at(-1)?.type).toBe("goAway");
  });
});
