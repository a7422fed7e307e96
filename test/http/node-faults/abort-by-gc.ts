import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { endHeaders, endStream, frame, headerBlock, openingWith } from "../../security/http2-frames.ts";

/**
 * Has a bare server of Node free HTTP/2 sessions whose streams hold headers, and ends after ten of them. Run with
 * `--expose-gc`.
 */

const request = headerBlock({ ":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/" });
/** The first of these headers is held while the stream is there; the second one is refused. */
const refused = headerBlock({ "x-held": "by the stream", "NOT-LOWER-CASE": "x" });
const widest = frame("settings", { payload: Buffer.from("00047fffffff", "hex") });
const more = frame("windowUpdate", { payload: Buffer.from("7fff0000", "hex") });
const streams = Array.from({ length: 32 }, (_, index) => 2 * index + 1);

const server = createServer()
  .on("sessionError", () => {})
  .on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond();
    writeOn(stream);
  });

/** Writes until the client is gone. */
function writeOn(stream: ServerHttp2Stream): void {
  if (stream.destroyed) {
    return;
  }
  if (stream.write(Buffer.alloc(50_000))) {
    setImmediate(writeOn, stream);
  } else {
    stream.once("drain", () => writeOn(stream));
  }
}

/** Opens streams, reads nothing of them, sends headers that are refused, and goes away. */
async function breakOff(port: number): Promise<void> {
  const client = connect(port, "127.0.0.1").on("error", () => {});
  client.write(Buffer.concat([openingWith(), widest, more]));
  await once(client, "data");
  client.pause();
  client.write(
    Buffer.concat(streams.map((stream) => frame("headers", { flags: endHeaders, stream, payload: request }))),
  );
  await pause(50);
  const flags = endHeaders | endStream;
  client.write(Buffer.concat(streams.map((stream) => frame("headers", { flags, stream, payload: refused }))));
  await pause(50);
  client.destroy();
  await pause(20);
}

await once(server.listen(0, "127.0.0.1"), "listening");
for (let round = 0; round < 10; round++) {
  await breakOff((server.address() as AddressInfo).port);
  globalThis.gc?.();
}
process.exit();
