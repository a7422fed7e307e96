import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorReasonSchema } from "../../../gen/petstore/v1/error_reason_pb.ts";
import { planQuotas } from "../../../src/domain/limits.ts";
import {
  contentSchema,
  type OpenApiOperation,
  openApiDocument,
  responseOf,
  schemaOf,
} from "../../../src/reference/openapi.ts";
import { createHttp1Client, type HttpAnswer, type HttpClient } from "../../support/http.ts";
import { serve, type TestServer, TestStore } from "../../support/server.ts";

let server: TestServer;
let client: HttpClient;
let html: string;

beforeAll(async () => {
  const addresses = [
    "--base-url",
    "https://api.pets.example/v1",
    "--staging-base-url",
    "https://staging.pets.example/v1",
  ];
  server = await serve(new TestStore(), { flags: addresses });
  client = createHttp1Client(server);
  html = (await get("/docs")).text;
});

afterAll(async () => {
  client?.close();
  await server?.stop();
});

function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
  return client.send({ method: "GET", path, headers });
}

/** The paths in the links and sources of the page. */
function named(attribute: "href" | "src"): string[] {
  return [...html.matchAll(new RegExp(` ${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) => value);
}

describe("the pages of the reference", () => {
  it.each(["/", "/docs/"])("redirects %s to the reference", async (path) => {
    const { status, headers } = await get(path);
    expect([status, headers.get("location")]).toEqual([308, "/docs"]);
  });

  it("needs no key, and is not counted", async () => {
    const { status, headers } = await get("/docs");
    expect(status).toBe(200);
    expect([...headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
  });

  it("allows no script and no style but its own, and calls to the API alone", async () => {
    const { headers } = await get("/docs");
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self' https://api.pets.example https://staging.pets.example; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(html).not.toMatch(/<style|<script(?! src=)|\son\w+=|\sstyle=/);
  });

  it("is sent once, and compressed", async () => {
    const { headers, bytes } = await get("/docs", { "accept-encoding": "br" });
    expect(headers.get("content-encoding")).toBe("br");
    expect(bytes.length).toBeLessThan(html.length / 3);
    expect((await get("/docs", { "if-none-match": headers.get("etag") ?? "" })).status).toBe(304);
  });

  it("loads less than 85 kB in all, and preloads each script", async () => {
    const own = [...named("src"), ...named("href")].filter((path) => path.startsWith("/docs/assets/"));
    const sizes = await Promise.all(
      ["/docs", ...new Set(own)].map(async (path) => (await get(path, { "accept-encoding": "br" })).bytes.length),
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(85_000);
    const imported = await Promise.all(
      own
        .filter((path) => path.endsWith(".js"))
        .map(async (path) => {
          const { text } = await get(path);
          return [...text.matchAll(/^import .* from "(.*)";$/gm)].map(
            ([, name = ""]) => new URL(name, `http://x${path}`).pathname,
          );
        }),
    );
    expect(imported.flat().filter((path) => !own.includes(path))).toEqual([]);
  });

  it("has scripts and styles that can be cached for ever, because their path has a hash", async () => {
    const assets = [...named("src"), ...named("href")].filter((path) => path.startsWith("/docs/assets/"));
    expect(assets.length).toBeGreaterThan(20);
    for (const path of new Set(assets)) {
      const { status, headers } = await get(path, { "accept-encoding": "gzip" });
      expect([path, status]).toEqual([path, 200]);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it.each(["/docs/assets/0000000000000000/reference.css", "/docs/nothing", "/docs/assets/../page.ts"])(
    "answers 404 at %s",
    async (path) => {
      const { status, text } = await get(path);
      expect([status, JSON.parse(text).code]).toEqual([404, "ROUTE_NOT_FOUND"]);
    },
  );

  it("takes no method but GET, HEAD and OPTIONS", async () => {
    const { status, headers } = await client.send({ method: "POST", path: "/docs", body: "{}" });
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
    const head = await client.send({ method: "HEAD", path: "/docs" });
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
  });
});

it("shows its own address without scripts if no other is configured", async () => {
  const own = await serve(new TestStore());
  const page = await (await fetch(`${own.origin}/docs`)).text();
  await own.stop();
  expect(page).toContain(`<code>${own.origin}/v1</code>`);
  expect(page).not.toContain("127.0.0.1:8080");
});

describe("what the reference says", () => {
  it("has each operation under a title for people, after the overview and before the guides", () => {
    const sections = [...html.matchAll(/<section class="(\w+)[^"]*" id="([^"]+)"/g)].map(
      ([, kind, id]) => `${kind} ${id}`,
    );
    expect(sections).toEqual([
      "guide overview",
      "group inventory",
      "operation list-inventory",
      "operation update-inventory",
      "group pets",
      "operation get-pet",
      "group store-orders",
      "operation list-orders",
      "group stock",
      "operation get-inventory",
      "operation get-availability",
      "operation adjust-inventory",
      "operation batch-update-inventory",
      "operation list-stock-changes",
      "operation list-stock-changes-by-pet",
      "operation watch-stock-changes",
      "group holds",
      "operation create-hold",
      "operation list-holds",
      "operation get-hold",
      "operation commit-hold",
      "operation release-hold",
      "group limits",
      "operation get-limits",
      ...[
        "authentication",
        "conventions",
        "changing-stock",
        "plans-and-limits",
        "errors",
        "grpc-and-connect",
        "versioning-and-stability",
      ].map((id) => `guide ${id}`),
    ]);
    expect(html).not.toContain(">InventoryService<");
  });

  it("has each parameter, field and error code of each operation", () => {
    const document = JSON.parse(openApiDocument({ production: undefined, staging: undefined }));
    for (const [path, item] of Object.entries<Record<string, OpenApiOperation>>(document.paths)) {
      for (const { operationId, parameters = [], responses } of Object.values(item)) {
        const id = operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        const [, section = ""] =
          new RegExp(`<section class="operation split" id="${id}"(.*?)</section>`, "s").exec(html) ?? [];
        expect(section.replaceAll("<wbr>", "")).toContain(`>${path}</code>`);
        const success = responseOf(document, responses[200] ?? responses[201] ?? { $ref: "" });
        const schema = contentSchema(success) ?? {};
        const fields = Object.keys(schemaOf(document, schema.items ?? schema).properties ?? {});
        expect([id, fields.length > 2]).toEqual([id, true]);
        const codes = Object.values(responses).flatMap((response) =>
          Object.keys(responseOf(document, response).content?.["application/json"]?.examples ?? {}),
        );
        expect(codes.length).toBeGreaterThan(5);
        for (const name of [...parameters.map(({ name }) => name), ...fields, ...codes]) {
          expect([id, name, section.includes(`<code>${name}</code>`)]).toEqual([id, name, true]);
        }
      }
    }
  });

  it("shows a stream as it is sent, and watches it instead of sending a call", () => {
    const [section = ""] = /<section class="operation split" id="watch-stock-changes".*?<\/section>/s.exec(html) ?? [];
    expect(section).toContain(">Watch</button>");
    expect(section).toContain('value="id: Ac16aWs_nAHXorQAAAAAAAAAEQ\nevent: stock-change\ndata: {&quot;cursor&quot;');
    expect(html.match(/class="primary">\w+</g)?.filter((button) => !button.endsWith(">Send<"))).toHaveLength(1);
  });

  it("has each error code, where links to it lead", () => {
    const codes = ErrorReasonSchema.values.filter(({ number }) => number !== 0).map(({ localName }) => localName);
    expect([...html.matchAll(/class="error" id="(\w+)"/g)].map(([, code]) => code)).toEqual(codes);
  });

  it("has no link within the page that leads nowhere", () => {
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => `#${id}`));
    const anchors = named("href").filter((href) => href.startsWith("#"));
    expect(anchors.filter((anchor) => !ids.has(anchor))).toEqual([]);
  });

  it("has each id once", () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  });

  it("names the addresses that are configured", () => {
    const shown = ["api", "staging"].filter((name) => html.includes(`<code>https://${name}.pets.example/v1</code>`));
    expect(shown).toEqual(["api", "staging"]);
    expect(html.includes("curl</span> https://api.pets.example/v1/inventory")).toBe(true);
  });

  it("tells what is free of charge", () => {
    expect(html).toContain("<code>GET /limits</code></a> is <strong>free</strong>");
  });

  it.each(Object.entries(planQuotas))("has the limits of the %s plan", (plan, { perMinute, perDay }) => {
    const cells = new RegExp(`<td>${plan}</td>\\s*<td[^>]*>([\\d,]+)</td>\\s*<td[^>]*>([\\d,]+)</td>`, "i").exec(html);
    expect(cells?.slice(1).map((cell) => Number(cell.replaceAll(",", "")))).toEqual([perMinute, perDay]);
  });

  it("shows a 429 as the service answers it, but for the numbers", async () => {
    const { key } = await server.store.mintQuota(1, 1_000);
    const authorization = `Bearer ${key}`;
    await get("/v1/inventory", { authorization });
    const [, requestId = ""] = /x-request-id<\/span>: (\S+)/.exec(html) ?? [];
    const { headers, text } = await get("/v1/inventory", { authorization, "x-request-id": requestId });
    const shown = html
      .slice(html.indexOf("429 Too Many Requests"))
      .replaceAll(/<[^>]+>/g, "")
      .replaceAll("&quot;", '"');
    const [head = "", body = ""] = shown.split("\n\n");
    const names = head
      .split("\n")
      .slice(1)
      .map((line) => line.slice(0, line.indexOf(":")));
    const connection = ["connection", "content-length", "date", "keep-alive"];
    expect(names.toSorted()).toEqual([...headers.keys()].filter((name) => !connection.includes(name)));
    const withoutNumbers = (value: string) => value.replaceAll(/\d+/g, "0");
    for (const line of head.split("\n").slice(1)) {
      const [name = "", value = ""] = line.split(": ");
      expect([name, withoutNumbers(value)]).toEqual([name, withoutNumbers(headers.get(name) ?? "")]);
    }
    expect(withoutNumbers(body.slice(0, body.indexOf("\n}") + 2))).toBe(
      withoutNumbers(JSON.stringify(JSON.parse(text), null, 2)),
    );
  });
});
