import { once } from "node:events";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { frame, openingWith, requestFrame } from "../../security/http2-frames.ts";
import { expectFault, listenBare, openBare } from "./bare-node.ts";

it("Node's timeout of a stalled stream is put off by pings", async () => {
  let hasFired = false;
  const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond();
    stream.end(Buffer.alloc(500_000));
    stream.setTimeout(60, () => {
      hasFired = true;
    });
  });
  const client = await openBare(await listenBare(server));
  client.write(openingWith(requestFrame({ ":path": "/" })));
  const ping = frame("ping", { payload: Buffer.alloc(8) });
  const pings = setInterval(() => client.write(ping), 15);
  onTestFinished(() => clearInterval(pings));
  await pause(300);
  expectFault(!hasFired, "resetIfStalled in src/http/node-faults/http2-timeouts.ts");
  clearInterval(pings);
  await expect.poll(() => hasFired).toBe(true);
});

it("Node leaves the timer of a closed session running", async () => {
  const server = createServer();
  const opened = once(server, "session") as Promise<[ServerHttp2Session]>;
  const client = await openBare(await listenBare(server));
  client.write(openingWith());
  const [session] = await opened;
  session.setTimeout(60_000, () => {});
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === "timeout") as symbol;
  const timer = (session as unknown as Record<symbol, { readonly _destroyed: boolean }>)[key];
  onTestFinished(() => clearTimeout(timer as never));
  client.destroy();
  await once(session, "close");
  await pause(10);
  expectFault(timer?._destroyed === false, "clearSessionTimer in src/http/node-faults/http2-timeouts.ts");
});
