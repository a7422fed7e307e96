import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { connect } from "node:net";
import { expect, onTestFinished } from "vitest";

/**
 * A canary shows a fault on Node without any code of ours. It fails when Node has mended the fault, and says what can go.
 */
export function expectFault(isThere: boolean, whatCanGo: string): void {
  expect(isThere, `Node ${process.version} has mended this fault. What can go: ${whatCanGo}`).toBe(true);
}

/** The major version of the Node that runs. */
export const nodeMajor = Number(process.versions.node.split(".")[0]);

/** Has a server listen until the test is finished. Returns the port. */
export async function listenBare(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) {
      socket.destroy();
    }
  });
  return (server.address() as AddressInfo).port;
}

/** Connects until the test is finished, and reads whatever comes. */
export async function openBare(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port }).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket.resume();
}
