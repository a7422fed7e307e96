import { expect } from "vitest";
import { until } from "../../support/deadline.ts";
import { createHttp1Client, createHttp2Client, type HttpClient } from "../../support/http.ts";
import { openFiles } from "../../support/process-usage.ts";
import { startServer, type TestServer } from "../../support/server.ts";
import { readStock, type Stock } from "./stock.ts";

/** How soon what a client has left is to be closed, in milliseconds. */
const closeDeadlineMs = 10_000;

/** How soon an update that is under way is to be seen by all, in milliseconds. */
const updateDeadlineMs = 5_000;

/** A server on which anything may be tried, and what it must be like afterwards. */
export class WatchedServer {
  readonly server: TestServer;
  /** May read everything, and change nothing. */
  readonly readerKey: string;
  /** May do everything. */
  readonly writerKey: string;
  readonly #clients: readonly HttpClient[];
  #stock: Stock = new Map();
  #handles = 0;
  #logLength = 0;

  private constructor(server: TestServer, keys: { readonly reader: string; readonly writer: string }) {
    this.server = server;
    this.readerKey = keys.reader;
    this.writerKey = keys.writer;
    this.#clients = [createHttp1Client(server), createHttp2Client(server)];
  }

  /** Starts one with the fixture. It logs all that it can, and takes strangers for those that they say they are. */
  static async start(): Promise<WatchedServer> {
    const server = await startServer("--log-level", "debug", "--trusted-proxy", "127.0.0.1");
    const quota = ["--plan", "enterprise", "--per-minute", "100000000", "--per-day", "100000000"];
    const readOnly = ["inventory:read", "pets:read", "orders:read"].flatMap((scope) => ["--scope", scope]);
    const [writer, reader] = await Promise.all([
      server.store.mintKey(...quota),
      server.store.mintKey(...quota, ...readOnly),
    ]);
    const watched = new WatchedServer(server, { reader: reader.key, writer: writer.key });
    watched.#stock = await watched.#answeredStock();
    watched.#handles = openFiles(server.pid);
    return watched;
  }

  /**
   * Expects that the process lives and answers over both versions of HTTP, that it has no more handles open than at the
   * start, that its log tells of no failure and no key, and that the stock is what `judge` expects it to be, by default
   * what it was before.
   */
  async expectUnharmed(judge: (now: Stock, before: Stock) => void = expectUnchanged): Promise<void> {
    const before = this.#stock;
    this.#stock = await this.#answeredStock();
    judge(this.#stock, before);
    await until(async () => openFiles(this.server.pid) <= this.#handles, closeDeadlineMs);
    this.#expectCleanLog();
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) {
      client.close();
    }
    await this.server.stop();
  }

  /** Both versions of HTTP answer the same, once the updates that are under way are done. */
  async #answeredStock(): Promise<Stock> {
    const headers = { authorization: `Bearer ${this.readerKey}` };
    let text = "";
    await until(async () => {
      const answers = await Promise.all(
        this.#clients.map((client) => client.send({ method: "GET", path: "/v1/inventory", headers })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      text = answers[0]?.text ?? "";
      return answers[1]?.text === text;
    }, updateDeadlineMs);
    return readStock(text);
  }

  #expectCleanLog(): void {
    const { log } = this.server;
    const news = log.slice(this.#logLength);
    this.#logLength = log.length;
    expect(news).not.toMatch(failureInLog);
    for (const key of [this.readerKey, this.writerKey]) {
      expect(news).not.toContain(key);
    }
  }
}

/** A line of the level `error` or above, or a stack. */
const failureInLog = /"level":"?(?:[56]0|error|fatal)|"INTERNAL"|uncaught|\n {4}at |\\n {4}at /i;

function expectUnchanged(now: Stock, before: Stock): void {
  expect(now).toEqual(before);
}
