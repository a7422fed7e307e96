import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "vitest";
import { until } from "../support/deadline.ts";
import { collectGarbage, evaluate, inspectable } from "../support/inspector.ts";
import { keptMegabytes } from "../support/kept-memory.ts";
import { openSocket } from "../support/raw.ts";
import { startServerWith } from "../support/server.ts";
import { useAttackedServer } from "./attacked-server.ts";
import { endHeaders, endStream, frame, headerBlock, openingWith } from "./http2-frames.ts";

const attacked = useAttackedServer(() => startServerWith(inspectable));

const log = () => attacked.server.log;

const head = { ":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/openapi.json" };

/** A header that is taken, and one that is not: the first is held until the stream is gone. */
const refused = headerBlock({ "x-held": "for as long as the stream is there", "NOT-LOWER-CASE": "x" });

const cancel = Buffer.of(0, 0, 0, 8);

/**
 * Has the server listen on a port of its own, where it does nothing for 100 ms, or collects its garbage, as it is told.
 */
const listenForCommands = `new Promise((resolve) => {
  const load = process.getBuiltinModule;
  load("node:v8").setFlagsFromString("--expose-gc");
  const collect = load("node:vm").runInNewContext("gc");
  const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  load("node:net")
    .createServer((socket) => socket.on("data", (command) => (String(command) === "wait" ? wait() : collect())))
    .listen(0, "127.0.0.1", function () { resolve(this.address().port); })
    .unref();
})`;

describe("the garbage collector takes no connection before the headers that it holds", () => {
  it("where they were refused as it ended", async () => {
    const port = (await evaluate(log, listenForCommands)) as number;
    const [waiter, collector] = [1, 2].map(() => connect({ host: "127.0.0.1", port }));
    for (let round = 0; round < 5; round++) {
      const socket = await openConnection();
      waiter?.write("wait");
      await pause(20);
      // Both come while the server waits, and so in one turn of its event loop.
      socket.write(
        Buffer.concat([
          frame("headers", {
            flags: endHeaders | endStream,
            stream: 1,
            payload: Buffer.concat([headerBlock(head), refused]),
          }),
          frame("goAway", { payload: Buffer.alloc(8) }),
        ]),
      );
      collector?.write("collect");
      await pause(150);
      socket.destroy();
    }
    waiter?.destroy();
    collector?.destroy();
  });

  it.each([
    ["where the client reads nothing", breakOff],
    ["where the client takes its calls back, and reads the rest", takeBack],
    ["where it is ended for the many calls that it opens", openTooMany],
  ])("%s", async (_title, end) => {
    for (let round = 0; round < 10; round++) {
      await end();
      await collectGarbage(log);
    }
  });
});

it("connections of which headers were held are let go of", { timeout: 60_000 }, async () => {
  await breakOff();
  const before = await keptMegabytes(attacked.server);
  await Promise.all(Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? breakOff() : takeBack())));
  // A connection counts for 0.26 MB while it is kept, and so all of them for 52.
  await until(async () => (await keptMegabytes(attacked.server)) < before + 15, 30_000);
});

/** Asks for more than there is room for, reads nothing of it, and sends each call headers that are refused. */
async function hold(...behind: readonly Buffer[]): Promise<Socket> {
  const socket = await openConnection();
  socket.pause();
  for (let stream = 1; stream < 256; stream += 2) {
    socket.write(frame("headers", { flags: endHeaders, stream, payload: headerBlock(head) }));
  }
  await pause(100);
  for (let stream = 1; stream < 256; stream += 2) {
    const trailers = frame("headers", { flags: endHeaders | endStream, stream, payload: refused });
    socket.write(Buffer.concat([trailers, ...behind.map((payload) => frame("reset", { stream, payload }))]));
  }
  await pause(100);
  return socket;
}

async function breakOff(): Promise<void> {
  const socket = await hold();
  socket.destroy();
  await pause(20);
}

async function takeBack(): Promise<void> {
  const socket = await hold(cancel);
  socket.resume();
  await pause(100);
  socket.destroy();
  await pause(20);
}

/**
 * Has the server end the connection for the many calls that it opens and takes back, while it reads nothing of others.
 */
async function openTooMany(): Promise<void> {
  const socket = await hold(cancel);
  const streams = Array.from({ length: 600 }, (_, index) => 257 + 2 * index).map((stream) =>
    Buffer.concat([
      frame("headers", { flags: endHeaders, stream, payload: headerBlock(head) }),
      frame("headers", { flags: endHeaders | endStream, stream, payload: refused }),
      frame("reset", { stream, payload: cancel }),
    ]),
  );
  socket.write(Buffer.concat(streams));
  await pause(20);
  socket.destroy();
}

async function openConnection(): Promise<Socket> {
  const socket = openSocket(attacked.server).on("error", () => {});
  const widest = Buffer.from("00047fffffff", "hex");
  const more = Buffer.from("7fff0000", "hex");
  socket.write(
    Buffer.concat([openingWith(), frame("settings", { payload: widest }), frame("windowUpdate", { payload: more })]),
  );
  await once(socket, "data");
  return socket;
}
