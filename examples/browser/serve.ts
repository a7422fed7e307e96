/**
 * Serves the page beside this file, and the modules that it imports, as they are: no bundler. An import map tells the
 * browser where the packages are; with a bundler, such as Vite, neither it nor this file is needed.
 *
 *     npm run example examples/browser/serve.ts
 */
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import { extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** What the page, the client and Connect import by name. */
const packages = [
  "petstore-inventory-client",
  "@connectrpc/connect",
  "@connectrpc/connect/protocol",
  "@connectrpc/connect/protocol-connect",
  "@connectrpc/connect/protocol-grpc",
  "@connectrpc/connect/protocol-grpc-web",
  "@connectrpc/connect-web",
  "@bufbuild/protobuf",
  "@bufbuild/protobuf/codegenv2",
  "@bufbuild/protobuf/reflect",
  "@bufbuild/protobuf/wire",
  "@bufbuild/protobuf/wkt",
];

const root = process.cwd();
const imports = Object.fromEntries(packages.map((name) => [name, pathOf(fileURLToPath(import.meta.resolve(name)))]));

function pathOf(file: string): string {
  return `/${relative(root, file)}`;
}

async function page(): Promise<string> {
  const html = await readFile(join(import.meta.dirname, "index.html"), "utf8");
  return html.replace(/(<script type="importmap">)[^<]*/, `$1${JSON.stringify({ imports })}`);
}

async function moduleAt(path: string): Promise<string> {
  const source = await readFile(join(root, path), "utf8");
  return extname(path) === ".ts" ? stripTypeScriptTypes(source) : source;
}

const home = `${pathOf(import.meta.dirname)}/`;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  try {
    if (pathname === "/") {
      response.writeHead(302, { location: home }).end();
    } else if (pathname === home) {
      response.setHeader("content-type", "text/html").end(await page());
    } else if (/\.[jt]s$/.test(pathname)) {
      response.setHeader("content-type", "text/javascript").end(await moduleAt(pathname));
    } else {
      response.writeHead(404).end();
    }
  } catch {
    response.writeHead(404).end();
  }
}

const server = createServer((request, response) => void answer(request, response));

server.listen(Number(process.env.PORT ?? 8090), "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  console.log(`the page is at http://127.0.0.1:${port} (for a server with --cors-origin http://127.0.0.1:${port})`);
});
