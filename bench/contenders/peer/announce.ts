import type { AddressInfo, Server } from "node:net";

/** Listens on a free port of this machine, and says where on stdout, as the service does. */
export function announce(server: Server): void {
  server.listen(0, "127.0.0.1", () => announcePort((server.address() as AddressInfo).port));
}

/** The line that tells the bench where a contender listens. */
export function announcePort(port: number, scheme: "http" | "https" = "http"): void {
  console.log(`listening on ${scheme}://127.0.0.1:${port}`);
}
