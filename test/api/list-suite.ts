import { beforeAll, describe, expect, it } from "vitest";
import type { Protocol } from "../support/clients/protocols.ts";
import { protocols } from "../support/clients/protocols.ts";
import { nextLink } from "../support/clients/rest.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectSuccess } from "../support/expectations.ts";
import { createHttp1Client, type HttpClient } from "../support/http.ts";
import type { Input, Output } from "../support/operations.ts";
import type { TestServer } from "../support/server.ts";

export type ListOperation = "listInventory" | "listOrders";

/** A list of the API, and what the fixture has in it. */
export interface ListUnderTest<O extends ListOperation> {
  readonly operation: O;
  readonly path: string;
  /** The names of the statuses, in the order of their numbers from 1. */
  readonly statuses: readonly string[];
  /** By ascending id. */
  readonly entries: readonly { readonly id: bigint; readonly status: string }[];
  ids(message: Output<O>): bigint[];
  server(): TestServer;
  key(): string;
}

interface Query {
  readonly pageSize?: number;
  readonly pageToken?: string;
  readonly status?: number[];
}

/** What both lists of the API do alike: order, pages, filters. */
export function describeList<O extends ListOperation>(list: ListUnderTest<O>): void {
  const total = list.entries.length;

  const call = (protocol: Protocol, query: Query) =>
    list.server().call(protocol, list.operation, query as Input<O>, { key: list.key() });

  const page = async (protocol: Protocol, query: Query) => {
    const message = expectSuccess(await call(protocol, query));
    return { ids: list.ids(message), next: message.nextPageToken };
  };

  const idsOf = (status: readonly number[]) =>
    list.entries
      .filter((entry) => status.length === 0 || status.some((value) => list.statuses[value - 1] === entry.status))
      .map(({ id }) => id);

  describe.each(protocols)("over $name", (protocol) => {
    it("lists every entry by ascending id", async () => {
      expect(await page(protocol, {})).toEqual({ ids: idsOf([]), next: "" });
    });

    it.each<{ pageSize: number; status: number[] }>([
      { pageSize: 1, status: [] },
      { pageSize: 2, status: [] },
      { pageSize: total - 1, status: [] },
      { pageSize: total, status: [] },
      { pageSize: total + 1, status: [] },
      { pageSize: 10_001, status: [] },
      { pageSize: 2_147_483_647, status: [] },
      { pageSize: 1, status: [1] },
      { pageSize: 2, status: [2, 3] },
    ])("pages to the end by $pageSize with the statuses $status", async ({ pageSize, status }) => {
      const expected = idsOf(status);
      const pages: bigint[][] = [];
      let pageToken = "";
      do {
        const { ids, next } = await page(protocol, { pageSize, pageToken, status });
        pages.push(ids);
        pageToken = next;
      } while (pageToken !== "" && pages.length <= expected.length);
      expect(pages.flat()).toEqual(expected);
      expect(pages).toHaveLength(Math.ceil(expected.length / pageSize));
    });

    it.each([[[1]], [[2]], [[3]], [[3, 1]], [[1, 2, 3]], [[2, 2]]])("filters by the statuses %j", async (status) => {
      expect(await page(protocol, { status })).toEqual({ ids: idsOf(status), next: "" });
    });

    it("gives all that remains for a page token without a page size", async () => {
      const first = await page(protocol, { pageSize: 2 });
      expect(await page(protocol, { pageToken: first.next })).toEqual({ ids: idsOf([]).slice(2), next: "" });
    });

    it("takes another page size on the way", async () => {
      const first = await page(protocol, { pageSize: 1 });
      const second = await page(protocol, { pageSize: 3, pageToken: first.next });
      expect(second.ids).toEqual(idsOf([]).slice(1, 4));
    });

    it.each<[title: string, query: Query, code: ErrorCode]>([
      ["a page size of 0", { pageSize: 0 }, "INVALID_REQUEST"],
      ["a negative page size", { pageSize: -1 }, "INVALID_REQUEST"],
      ["an unknown status", { status: [99] }, "INVALID_REQUEST"],
      ["the status that states nothing", { status: [0] }, "INVALID_REQUEST"],
      ["an unknown status beside a known one", { status: [1, 99] }, "INVALID_REQUEST"],
      ["a page token that was never issued", { pageToken: "nonsense" }, "INVALID_PAGE_TOKEN"],
      ["a page token outside of any alphabet", { pageToken: "\u{1F415} %00" }, "INVALID_PAGE_TOKEN"],
      ["a very long page token", { pageToken: "A".repeat(2_000) }, "INVALID_PAGE_TOKEN"],
    ])("refuses %s", async (_title, query, code) => {
      expectFailure(await call(protocol, query), code);
    });

    it.each<[from: number[], to: number[]]>([
      [[], [1]],
      [[1], []],
      [[1], [2]],
      [[1], [1, 2]],
    ])("refuses a page token of the statuses %j with the statuses %j", async (from, to) => {
      const { next } = await page(protocol, { pageSize: 1, status: from });
      expectFailure(await call(protocol, { pageSize: 1, status: to, pageToken: next }), "INVALID_PAGE_TOKEN");
    });

    it("refuses a page token of the other list", async () => {
      const other = list.operation === "listOrders" ? "listInventory" : "listOrders";
      const first = expectSuccess(await list.server().call(protocol, other, { pageSize: 1 }, { key: list.key() }));
      expectFailure(await call(protocol, { pageToken: first.nextPageToken }), "INVALID_PAGE_TOKEN");
    });
  });

  it("issues page tokens that every protocol takes", async () => {
    let pageToken = "";
    const ids: bigint[] = [];
    for (const protocol of protocols.slice(0, total - 1)) {
      const answer = await page(protocol, { pageSize: 1, pageToken });
      ids.push(...answer.ids);
      pageToken = answer.next;
    }
    expect(ids).toEqual(idsOf([]).slice(0, ids.length));
  });

  describe("over REST", () => {
    let http: HttpClient;
    beforeAll(() => {
      http = createHttp1Client(list.server());
      return () => http.close();
    });

    const send = (path: string, { method = "GET", headers = {} } = {}) =>
      http.send({ method, path, headers: { authorization: `Bearer ${list.key()}`, ...headers } });

    it.each(["0", "-1", "abc", "1.5", "1e1", "2147483648", "-2147483649", "99999999999999999999", "0x10"])(
      "refuses the page size %s",
      async (pageSize) => {
        expectErrorBody(await send(`${list.path}?pageSize=${pageSize}`), "INVALID_REQUEST");
      },
    );

    it.each([
      "color=brown",
      "quantity=3&petId=7",
      "__proto__=1",
      "__proto__.pageSize=1",
      "x",
      "&&",
      "=",
      "a[b]=c",
      "status%5B%5D=1",
    ])("ignores unknown query parameters: %s", async (query) => {
      const answer = await send(`${list.path}?${query}`);
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.text)).toHaveLength(total);
    });

    it.each(["lost", "1,2", "null"])("refuses the status %s", async (status) => {
      expectErrorBody(await send(`${list.path}?status=${status}`), "INVALID_REQUEST");
    });

    it("announces a further page by an absolute Link to the origin that was asked", async () => {
      const status = list.statuses[0] ?? "";
      const answer = await send(`${list.path}?pageSize=1&status=${status}&color=brown`, {
        headers: { host: "pets.example:8443" },
      });
      const link = nextLink(answer.headers);
      expect(link?.origin).toBe("http://pets.example:8443");
      expect(link?.pathname).toBe(list.path);
      expect(link?.searchParams.get("pageSize")).toBe("1");
      expect(link?.searchParams.getAll("status")).toEqual([status]);
    });

    it("reaches the end by following Link alone", async () => {
      const bodies: unknown[][] = [];
      let path: string | undefined = `${list.path}?pageSize=2`;
      while (path !== undefined && bodies.length < total) {
        const answer = await send(path);
        bodies.push(JSON.parse(answer.text));
        const next = nextLink(answer.headers);
        expect(next?.origin ?? list.server().origin).toBe(list.server().origin);
        path = next && next.pathname + next.search;
      }
      expect(bodies.flat()).toEqual(JSON.parse((await send(list.path)).text));
    });

    it.each(["", "?pageSize=10000"])("sends no Link on the last page: %s", async (query) => {
      expect((await send(list.path + query)).headers.get("link")).toBeNull();
    });

    it("answers HEAD as GET, without the body", async () => {
      const [get, head] = [
        await send(`${list.path}?pageSize=2`),
        await send(`${list.path}?pageSize=2`, { method: "HEAD" }),
      ];
      expect(head.status).toBe(200);
      expect(head.text).toBe("");
      for (const name of ["content-type", "link"]) {
        expect(head.headers.get(name), name).toBe(get.headers.get(name));
      }
    });

    it("answers OPTIONS by 204 with Allow", async () => {
      const answer = await send(list.path, { method: "OPTIONS" });
      expect(answer.status).toBe(204);
      expect(answer.headers.get("allow")?.split(/, */).toSorted()).toEqual(["GET", "HEAD", "OPTIONS"]);
      expect(answer.text).toBe("");
    });
  });
}
