import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { it } from "vitest";
import { openingWith, requestFrame } from "../../security/http2-frames.ts";
import { expectFault } from "./bare-node.ts";

const pieces = [openingWith(requestFrame({ ":path": "/" })), requestFrame({ ":path": "/" }, 3)];

/** Gives a session two unshifted pieces, of which the first has it destroyed. */
const script = `
import { createServer } from "node:http2";
import { connect, createServer as listen } from "node:net";
const http2 = createServer()
  .on("sessionError", () => {})
  .on("stream", (stream) => stream.on("error", () => {}).session.destroy());
listen((socket) => {
  socket.pause();
  for (const piece of ${JSON.stringify(pieces.map((piece) => piece.toString("hex")))}.toReversed()) {
    socket.unshift(Buffer.from(piece, "hex"));
  }
  http2.emit("connection", socket);
}).listen(0, "127.0.0.1", function () {
  connect(this.address().port, "127.0.0.1").resume().on("error", () => {}).on("close", () => process.exit());
});
`;

it("Node throws when it gives a session a further piece after one that has ended it", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "ignore", "pipe"] });
  const [[code], errors] = await Promise.all([once(child, "exit"), text(child.stderr)]);
  expectFault(code !== 0 && errors.includes("TypeError"), "the one piece of the preface in src/http/preface.ts");
});
