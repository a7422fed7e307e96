import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restProtocols, rpcProtocols } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import type { HttpAnswer } from "../support/http.ts";
import { samples } from "../support/operations.ts";
import { sendRaw } from "../support/raw.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { doors } from "./doors.ts";
import { credentialTricks, type Keys, pathTricks, withHeaders } from "./entry-tricks.ts";

let server: TestServer;
let keys: Keys;
let collector: Server;
let traces = Buffer.alloc(0);
/** All that clients were answered, in bodies, headers and trailers. */
const answers: string[] = [];

beforeAll(async () => {
  collector = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      traces = Buffer.concat([traces, bytes]);
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const store = new TestStore();
  await importFixture(store.db);
  const { key: good } = await store.mintQuota(1_000_000, 1_000_000);
  const { key: expired, id: rotated } = await store.mintKey();
  await store.run("keys", "rotate", rotated, "--grace", "1s");
  const { id, key: revoked } = await store.mintKey();
  await store.run("keys", "revoke", id);
  const other = new TestStore();
  const { key: foreign } = await other.mintKey();
  other.remove();
  keys = { good, expired, revoked, foreign };
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
  const flags = ["--log-level", "debug", "--trusted-proxy", "127.0.0.1/32"];
  server = await serve(store, { flags, env: { ...env, OTEL_BSP_SCHEDULE_DELAY: "100" } });
  await useAll();
}, 240_000);

afterAll(async () => {
  await server?.stop();
  collector?.close();
});

/** Calls every operation over every protocol with each key, tries every trick, and sends what is no HTTP. */
async function useAll(): Promise<void> {
  for (const protocol of [...restProtocols, ...rpcProtocols]) {
    for (const { operation, input } of samples) {
      for (const key of Object.values(keys)) {
        const { failure, headers } = await server.call(protocol, operation, input, { key });
        answers.push(JSON.stringify([failure ?? null, ...headers]));
      }
    }
  }
  const tricks = Object.values({ ...credentialTricks(keys), ...pathTricks });
  for (const door of doors) {
    const client = door.open(server);
    for (const sample of samples) {
      const request = withHeaders(() => ({ authorization: `Bearer ${keys.good}` }))(await door.request(sample));
      await Promise.all(
        tricks.map(async (trick) => {
          const answer = await client.send(trick(request)).catch(() => undefined);
          answers.push(answer === undefined ? "" : allOf(answer));
        }),
      );
    }
    client.close();
  }
  for (const bytes of [`GET /v1/limits?${keys.good} HTTP/9\r\n\r\n`, `Bearer ${keys.good}\r\n\r\n`]) {
    answers.push(allOf({ ...(await sendRaw(server, bytes)), trailers: new Headers() }));
  }
}

function allOf({ text, headers, trailers }: Pick<HttpAnswer, "text" | "headers" | "trailers">): string {
  return [text, JSON.stringify([...headers, ...trailers])].join("\n");
}

async function opsPages(): Promise<string> {
  const pages = ["/metrics", "/status", "/healthz", "/readyz", "/log-level", `/${keys.good}`];
  const texts = await Promise.all(pages.map(async (page) => (await fetch(server.opsOrigin + page)).text()));
  return texts.join("\n");
}

/** The server's process, and those that it has started. */
function processTexts(file: "cmdline" | "environ" | "comm"): string {
  const own = String(server.pid);
  const children = readFileSync(`/proc/${own}/task/${own}/children`, "utf8").split(" ").filter(Boolean);
  return [own, ...children].map((pid) => readFileSync(`/proc/${pid}/${file}`, "latin1")).join("\n");
}

/** The store's file, its WAL, and all else that stands beside them. */
function storeBytes(): string {
  const { directory } = server.store;
  return readdirSync(directory)
    .map((name) => readFileSync(join(directory, name), "latin1"))
    .join("\n");
}

describe("keys, after much use and many failures", () => {
  it.each<[place: string, text: () => string | Promise<string>, mark: string]>([
    ["the log, at its fullest", () => server.log, '"msg":"call"'],
    ["answers", () => answers.join("\n"), "API_KEY_INVALID"],
    ["the operator's pages", opsPages, "petstore_calls_total"],
    ["traces", () => traces.toString("latin1"), "petstore.request_id"],
    ["command lines", () => processTexts("cmdline"), "serve"],
    ["environments", () => processTexts("environ"), "OTEL_EXPORTER_OTLP_ENDPOINT"],
    ["the store's files", storeBytes, "SQLite format 3"],
  ])("do not stand in %s", async (_place, text, mark) => {
    await until(async () => (await text()).includes(mark), 10_000);
    const all = (await text()).toLowerCase();
    for (const key of Object.values(keys)) {
      // A part of a secret would be worth as much as what is left of it to guess; the prefix is everybody's.
      expect(all.includes(key.slice("psk_".length, -6).toLowerCase()), "a key").toBe(false);
      expect(all.includes(Buffer.from(key).toString("base64").slice(0, 20).toLowerCase()), "a key in base64").toBe(
        false,
      );
    }
  });
});
