import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Where the operator's port listens, and what it tells. */
export interface OpsOptions {
  readonly host: string;
  readonly port: number;
  readonly isReady: () => boolean;
}

export interface OpsServer {
  readonly address: AddressInfo;
  close(): void;
}

/**
 * Serves the operator's port: `/healthz` answers 200 while the process lives, `/readyz` while it takes requests, and
 * 503 else. It never serves the API. Rejects when it cannot listen.
 */
export async function serveOps({ host, port, isReady }: OpsOptions): Promise<OpsServer> {
  const pages: Record<string, () => readonly [status: number, text: string]> = {
    "/healthz": () => [200, "ok"],
    "/readyz": () => (isReady() ? [200, "ready"] : [503, "stopping"]),
  };
  const server = createServer((request, response) => {
    const page = Object.hasOwn(pages, request.url ?? "") ? pages[request.url as string] : undefined;
    const [status, text] = page?.() ?? [404, "not found"];
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
    response.end(`${text}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(void server.off("error", reject)));
  });
  return {
    address: server.address() as AddressInfo,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
