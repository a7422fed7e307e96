import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openApiDocument } from "../../../src/reference/openapi.ts";
import { expectErrorBody } from "../../support/expectations.ts";
import { createHttp1Client, createHttp2Client, type HttpClient } from "../../support/http.ts";
import { serve, type TestServer, TestStore } from "../../support/server.ts";
import { OpenApi } from "./openapi.ts";

const generated = new OpenApi().document;
const production = "https://api.pets.example/v1";
const staging = "https://staging.pets.example/v1";

it.each<
  [
    title: string,
    urls: Parameters<typeof openApiDocument>[0],
    servers: readonly { readonly url: string; readonly description: string }[] | undefined,
  ]
>([
  ["the server it is read from", { production: undefined, staging: undefined }, undefined],
  ["production", { production, staging: undefined }, [{ url: production, description: "Production" }]],
  ["staging", { production: undefined, staging }, [{ url: staging, description: "Staging" }]],
  [
    "both",
    { production, staging },
    [
      { url: production, description: "Production" },
      { url: staging, description: "Staging" },
    ],
  ],
])("the description names as its servers: %s", (_title, urls, servers) => {
  const told = servers && {
    servers,
    externalDocs: { description: "The API reference", url: servers[0]?.url.replace(/v1$/, "docs") },
  };
  expect(JSON.parse(openApiDocument(urls))).toEqual({ ...generated, ...told });
});

let server: TestServer;
let clients: Record<string, HttpClient>;

beforeAll(async () => {
  server = await serve(new TestStore(), {
    flags: ["--base-url", production],
    env: { PETSTORE_STAGING_BASE_URL: staging },
  });
  clients = { "HTTP/1.1": createHttp1Client(server), "HTTP/2": createHttp2Client(server) };
});

afterAll(async () => {
  for (const client of Object.values(clients ?? {})) {
    client.close();
  }
  await server?.stop();
});

describe.each(["HTTP/1.1", "HTTP/2"])("/openapi.json, over %s,", (version) => {
  const ask = (headers: Record<string, string> = {}, method = "GET") =>
    (clients[version] as HttpClient).send({ method, path: "/openapi.json", headers });

  it("needs no key, and is not counted", async () => {
    const { status, headers, text } = await ask();
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual(JSON.parse(openApiDocument({ production, staging })));
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect([...headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
  });

  it("is sent again only when it has changed", async () => {
    const { headers } = await ask();
    expect(headers.get("cache-control")).toBe("public, no-cache");
    const { status, text } = await ask({ "if-none-match": headers.get("etag") ?? "" });
    expect({ status, text }).toEqual({ status: 304, text: "" });
    expect((await ask({ "if-none-match": '"other"' })).status).toBe(200);
  });

  it.each([
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ])("is compressed as %s for whoever takes it", async (coding, decompress) => {
    const plain = await ask();
    const { headers, bytes } = await ask({ "accept-encoding": coding });
    expect(headers.get("content-encoding")).toBe(coding);
    expect(headers.get("vary")).toBe("Accept-Encoding");
    expect(bytes.length).toBeLessThan(plain.bytes.length / 5);
    expect(decompress(bytes)).toEqual(plain.bytes);
  });

  it("has a HEAD, whose length is that of the whole", async () => {
    const { bytes } = await ask();
    const { status, headers, text } = await ask({}, "HEAD");
    expect({ status, text }).toEqual({ status: 200, text: "" });
    expect(headers.get("content-length")).toBe(String(bytes.length));
  });

  it("takes no other methods, and says so", async () => {
    const refused = await ask({}, "POST");
    expectErrorBody(refused, "METHOD_NOT_ALLOWED");
    expect(refused.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    const { status, headers } = await ask({}, "OPTIONS");
    expect(status).toBe(204);
    expect(headers.get("allow")).toBe("GET, HEAD, OPTIONS");
  });
});
