import { type ClientHttp2Session, connect, constants, createServer, type ServerHttp2Stream } from "node:http2";
import { it, onTestFinished } from "vitest";
import { expectFault, listenBare } from "./bare-node.ts";

/** Asks for an answer, takes it back when it has begun, and resolves to the code of the reset. */
async function takeBack(session: ClientHttp2Session): Promise<number> {
  const stream = session.request({ ":path": "/" }).on("error", () => {});
  stream.on("response", () => setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), 5));
  await new Promise((resolve) => stream.on("close", resolve));
  return stream.rstCode;
}

it("Node counts the unsent bytes of reset streams until it refuses all others", async () => {
  const server = createServer({ maxSessionMemory: 1 }).on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond();
    stream.end(Buffer.alloc(300_000));
  });
  const session = connect(`http://127.0.0.1:${await listenBare(server)}`).on("error", () => {});
  onTestFinished(() => session.destroy());
  const codes: number[] = [];
  for (let round = 0; round < 10; round++) {
    codes.push(await takeBack(session));
  }
  expectFault(codes.includes(constants.NGHTTP2_ENHANCE_YOUR_CALM), "src/http/node-faults/http2-unsent-bytes.ts");
});
