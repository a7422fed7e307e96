import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** What a page of the operator's port answers. */
export interface OpsAnswer {
  readonly status: number;
  /** `text/plain` by default. */
  readonly type?: string;
  readonly body: string;
}

/** What a page does for each method that it takes; `HEAD` is as `GET`. `body` is that of the request. */
export type OpsPage = Readonly<Partial<Record<"GET" | "PUT", (body: string) => OpsAnswer | Promise<OpsAnswer>>>>;

/** Where the operator's port listens, and what it tells. */
export interface OpsOptions {
  readonly host: string;
  readonly port: number;
  /** By their paths. */
  readonly pages: Readonly<Record<string, OpsPage>>;
  /** Hears why a page has failed. */
  readonly report: (reason: unknown) => void;
}

export interface OpsServer {
  readonly address: AddressInfo;
  close(): void;
}

/** Serves the operator's port, which never serves the API. Rejects when it cannot listen. */
export async function serveOps({ host, port, pages, report }: OpsOptions): Promise<OpsServer> {
  const server = createServer((request, response) => {
    void answer(request, pages)
      .catch((reason: unknown) => {
        report(reason);
        return plain(500, "failed");
      })
      .then(({ status, type = "text/plain; charset=utf-8", body }) => {
        // What was not read of a body would be taken for the next request.
        const connection = request.complete ? {} : { connection: "close" };
        response.writeHead(status, { "content-type": type, "cache-control": "no-store", ...connection });
        response.end(request.method === "HEAD" ? undefined : body);
      });
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

/** A line of text. */
export function plain(status: number, line: string): OpsAnswer {
  return { status, body: `${line}\n` };
}

async function answer(request: IncomingMessage, pages: OpsOptions["pages"]): Promise<OpsAnswer> {
  const [path = ""] = (request.url ?? "").split("?");
  if (!Object.hasOwn(pages, path)) {
    return plain(404, "not found");
  }
  const page = pages[path] as OpsPage;
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  if (!Object.hasOwn(page, method)) {
    return plain(405, `use ${Object.keys(page).join(" or ")}`);
  }
  // Commands send no Origin. A page of any origin may, whose name has come to mean this port.
  if (method === "PUT" && request.headers.origin !== undefined) {
    return plain(403, "not from a browser");
  }
  const body = await readShort(request);
  return body === undefined
    ? plain(413, `send ${maxBodyBytes} bytes at most`)
    : (page[method as keyof OpsPage] as (body: string) => OpsAnswer)(body);
}

/** The largest body that is read. The longest that means anything is the name of a level. */
const maxBodyBytes = 1024;

/** Undefined for what is longer, of which no more is read. */
async function readShort(request: IncomingMessage): Promise<string | undefined> {
  let body = "";
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > maxBodyBytes) {
      return undefined;
    }
  }
  return body;
}
