import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http2";
import { it, onTestFinished } from "vitest";
import { frame, openingWith, requestFrame } from "../../security/http2-frames.ts";
import { expectFault, listenBare, openBare } from "./bare-node.ts";

it("Node parses every stream that it has read before it enforces its limit of resets", async () => {
  let created = 0;
  const count = () => {
    created += 1;
  };
  subscribe("http2.server.stream.created", count);
  onTestFinished(() => void unsubscribe("http2.server.stream.created", count));
  const server = createServer({ streamResetBurst: 10, streamResetRate: 1 }).on("stream", (stream) =>
    stream.on("error", () => {}),
  );
  const client = await openBare(await listenBare(server));
  client.write(openingWith());
  await once(client, "data");
  const cancel = Buffer.of(0, 0, 0, 8);
  const streams = Array.from({ length: 700 }, (_, index) => 2 * index + 1);
  const opened = streams.map((stream) => [
    requestFrame({ ":path": "/" }, stream),
    frame("reset", { stream, payload: cancel }),
  ]);
  client.write(Buffer.concat(opened.flat()));
  await once(server, "sessionError");
  expectFault(created > 350, "src/http/node-faults/http2-stream-bursts.ts");
});
