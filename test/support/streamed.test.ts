import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { httpVersions, sendStreamed } from "./streamed.ts";

describe.each(httpVersions)("an exchange over %s", (version) => {
  it.each<[how: string, cut: (socket: Socket) => void]>([
    ["ended", (socket) => socket.end()],
    ["reset", (socket) => socket.resetAndDestroy()],
  ])("rejects when its connection is %s before there is an answer", async (_, cut) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => cut(socket));
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(sendStreamed(version, { origin }, { path: "/" }).answer).rejects.toThrow();
  });
});
