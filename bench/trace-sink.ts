import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Receives traces by OTLP over HTTP and discards them. Resolves to its address; it keeps no process alive. */
export function startTraceSink(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.end());
  });
  return new Promise((resolve) => {
    server.unref().listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}
