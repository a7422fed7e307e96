import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import { type ChangePage, type ChangeQuery, issueCursor, type StockChange } from "../../src/domain/history.ts";
import {
  type ChangePageRequest,
  issuePageToken,
  type ListIdentity,
  maxPageSize,
  type PagedList,
  parsePageToken,
  readChangePage,
  readPage,
} from "../../src/domain/page.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import { anyCharacter } from "../support/any-character.ts";

const int64 = fc.bigInt(minInt64, maxInt64);

function refuses(token: string, list: ListIdentity) {
  try {
    parsePageToken(list, token);
  } catch (error) {
    return error instanceof DomainError && error.code === "INVALID_PAGE_TOKEN";
  }
  return false;
}

describe("a page token", () => {
  const list = { name: "inventory", filter: ["available", "sold"] };
  const token = issuePageToken(list, 42n);

  it("is short, and fit for a URL", () => {
    expect(token).toMatch(/^[0-9A-Za-z_-]{18}$/);
  });

  it("leads back to any position", () => {
    fc.assert(fc.property(int64, (after) => parsePageToken(list, issuePageToken(list, after)) === after));
  });

  it.each([[["available", "sold"]], [["sold", "available"]], [["sold", "available", "sold"]]])(
    "is valid for its filter, written as %j",
    (filter) => {
      expect(parsePageToken({ name: "inventory", filter }, token)).toBe(42n);
    },
  );

  it.each([
    ["inventory", []],
    ["inventory", ["available"]],
    ["inventory", ["available", "pending"]],
    ["inventory", ["available,sold"]],
    ["orders", ["available", "sold"]],
    ["", ["available", "sold"]],
  ])("is refused by the list %j with the filter %j", (name, filter) => {
    expect(refuses(token, { name, filter })).toBe(true);
  });

  it.each([
    "",
    " ",
    "0",
    `${token}=`,
    ` ${token}`,
    `${token}\n`,
    token.slice(0, -1),
    `${token}A`,
    token.toLowerCase(),
    "AAAAAAAAAAAAAAAAAA",
    "💥",
  ])("is refused as %j", (text) => {
    expect(refuses(text, list)).toBe(true);
  });

  it("is refused with any one character changed", () => {
    fc.assert(
      fc.property(fc.nat(17), fc.base64String({ minLength: 4, maxLength: 4 }), (index, [character = "A"]) => {
        fc.pre(character !== token[index]);
        return refuses(token.slice(0, index) + character + token.slice(index + 1), list);
      }),
    );
  });

  it("is refused as random text", () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => refuses(text, list)));
  });
});

describe("a page", () => {
  /** Seven entries, 0 to 6, or the even or odd ones of them. */
  function numbers(...filter: readonly ("even" | "odd")[]): PagedList<bigint> {
    return {
      name: "numbers",
      filter,
      positionOf: (item) => item,
      read: async (after = -1n, limit) =>
        [0n, 1n, 2n, 3n, 4n, 5n, 6n]
          .filter((n) => filter.length === 0 || filter.includes(n % 2n === 0n ? "even" : "odd"))
          .filter((n) => n > after)
          .slice(0, limit),
    };
  }

  async function readAll(pageSize: number, list = numbers()) {
    const pages: bigint[][] = [];
    let pageToken: string | undefined;
    do {
      const page = await readPage(list, { pageSize, pageToken });
      pages.push(page.items);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return pages;
  }

  it.each([
    [1, [[0n], [1n], [2n], [3n], [4n], [5n], [6n]]],
    [3, [[0n, 1n, 2n], [3n, 4n, 5n], [6n]]],
    [6, [[0n, 1n, 2n, 3n, 4n, 5n], [6n]]],
    [7, [[0n, 1n, 2n, 3n, 4n, 5n, 6n]]],
    [2_147_483_647, [[0n, 1n, 2n, 3n, 4n, 5n, 6n]]],
  ])("of %d leads to the next, until there is none", async (pageSize, expected) => {
    expect(await readAll(pageSize)).toEqual(expected);
  });

  it("keeps to its filter", async () => {
    expect(await readAll(2, numbers("even"))).toEqual([
      [0n, 2n],
      [4n, 6n],
    ]);
  });

  it("is cut to the largest size", async () => {
    let asked: number | undefined;
    const read = async (_after: bigint | undefined, limit: number) => {
      asked = limit;
      return [];
    };
    await readPage({ ...numbers(), read }, { pageSize: maxPageSize + 1, pageToken: undefined });
    expect(asked).toBe(maxPageSize + 1);
  });

  it("is refused when its token belongs to another filter", async () => {
    const { nextPageToken: pageToken } = await readPage(numbers("odd"), { pageSize: 1, pageToken: undefined });
    await expect(readPage(numbers(), { pageSize: 1, pageToken })).rejects.toThrow(DomainError);
  });
});

const lineage = "0123456789ab";

/** A history of the revisions from `oldest` to `head`, which searches `reach` of them at a time. */
function history(oldest: bigint, head: bigint, reach = 1_000n) {
  return {
    historyBounds: async () => ({ lineage, head, oldest }),
    async listChanges({ after, before = head + 1n, crossing, newestFirst, limit }: ChangeQuery): Promise<ChangePage> {
      const all = Array.from({ length: Number(head) }, (_, index) => BigInt(index + 1));
      const selected = all.filter((revision) => revision > after && revision < before);
      const searched = (newestFirst ? selected.toReversed() : selected).slice(0, Number(reach));
      // Every third change crosses.
      const found = searched.filter((revision) => crossing === undefined || revision % 3n === 0n).slice(0, limit);
      const isWhole = searched.length === selected.length || found.length === limit;
      return { changes: found.map(changeOf), searchedTo: isWhole ? undefined : searched.at(-1) };
    },
  };
}

function changeOf(revision: bigint): StockChange {
  return {
    revision,
    petId: 7n,
    before: 0n,
    after: 0n,
    kind: "set",
    reason: undefined,
    reference: undefined,
    keyId: undefined,
    requestId: undefined,
    occurredAtMs: 0,
  };
}

const anything: ChangePageRequest = {
  petIds: [],
  crossing: undefined,
  newestFirst: false,
  after: undefined,
  pageSize: undefined,
  pageToken: undefined,
};

type Asked = Partial<ChangePageRequest>;

async function page(store: ReturnType<typeof history>, asked: Asked) {
  const { changes, nextPageToken } = await readChangePage(store, { ...anything, ...asked }, 0);
  return { revisions: changes.map(({ revision }) => Number(revision)), nextPageToken };
}

async function readAll(store: ReturnType<typeof history>, asked: Asked) {
  const pages: number[][] = [];
  let pageToken: string | undefined;
  do {
    const answer = await page(store, { ...asked, pageToken });
    pages.push(answer.revisions);
    pageToken = answer.nextPageToken;
  } while (pageToken !== undefined);
  return pages;
}

async function codeOf(reading: Promise<unknown>): Promise<string | undefined> {
  const reason = await reading.catch((error: unknown) => error);
  return reason instanceof DomainError ? reason.code : undefined;
}

describe("a page of the history", () => {
  it.each<[asked: Asked, pages: number[][]]>([
    [{}, [[3, 4, 5, 6, 7]]],
    [{ pageSize: 2 }, [[3, 4], [5, 6], [7]]],
    [{ pageSize: 5 }, [[3, 4, 5, 6, 7]]],
    [{ pageSize: 2, newestFirst: true }, [[7, 6], [5, 4], [3]]],
    [{ pageSize: 2, after: issueCursor(lineage, 4n) }, [[5, 6], [7]]],
    [{ pageSize: 2, after: issueCursor(lineage, 4n), newestFirst: true }, [[7, 6], [5]]],
    [{ after: issueCursor(lineage, 2n) }, [[3, 4, 5, 6, 7]]],
    [{ after: issueCursor(lineage, 7n) }, [[]]],
  ])("leads to the next until there is none: %o", async (asked, pages) => {
    expect(await readAll(history(3n, 7n), asked)).toEqual(pages);
  });

  it.each<[asked: Asked, pages: number[][]]>([
    [{ crossing: 0n }, [[3], [6], [], [], [15], []]],
    [{ crossing: 0n, newestFirst: true }, [[15], [], [], [6], [3], []]],
  ])("may be short, or empty, where much is left out: %o", async (asked, pages) => {
    const found = await readAll(history(1n, 16n, 3n), asked);
    expect(found.flat()).toEqual([...new Set(pages.flat()), 9, 12].sort((a, b) => (asked.newestFirst ? b - a : a - b)));
    expect(found.length).toBeGreaterThan(4);
  });

  it("of an empty history is empty, with the cursor of nothing", async () => {
    expect(await page(history(1n, 0n), {})).toEqual({ revisions: [], nextPageToken: undefined });
    expect(await page(history(1n, 0n), { after: issueCursor(lineage, 0n) })).toMatchObject({ revisions: [] });
  });
});

describe("what is past its time", () => {
  it.each<[title: string, asked: Asked, code: string | undefined]>([
    ["the cursor before the oldest change", { after: issueCursor(lineage, 2n) }, undefined],
    ["an older cursor", { after: issueCursor(lineage, 1n) }, "CURSOR_EXPIRED"],
    ["an older cursor, read downwards", { after: issueCursor(lineage, 1n), newestFirst: true }, "CURSOR_EXPIRED"],
    ["the newest cursor", { after: issueCursor(lineage, 7n) }, undefined],
    ["a cursor that was never issued", { after: issueCursor(lineage, 8n) }, "CURSOR_EXPIRED"],
    ["a cursor of another history", { after: issueCursor("ba9876543210", 5n) }, "CURSOR_EXPIRED"],
    ["garbage", { after: "garbage" }, "INVALID_REQUEST"],
  ])("is told of %s", async (_title, asked, code) => {
    expect(await codeOf(page(history(3n, 7n), asked))).toBe(code);
  });

  it("does not stop a reader whose page is still kept, be the cursor too old that it began with", async () => {
    const asked = { after: issueCursor(lineage, 2n), pageSize: 2 };
    const { nextPageToken: pageToken } = await page(history(3n, 7n), asked);
    expect(await page(history(5n, 7n), { ...asked, pageToken })).toMatchObject({ revisions: [5, 6] });
    expect(await codeOf(page(history(6n, 7n), { ...asked, pageToken }))).toBe("CURSOR_EXPIRED");
  });

  it("ends a list that goes downwards, which has promised no more", async () => {
    const asked = { newestFirst: true, pageSize: 2 };
    const { nextPageToken: pageToken } = await page(history(3n, 7n), asked);
    expect(await page(history(7n, 7n), { ...asked, pageToken })).toEqual({ revisions: [], nextPageToken: undefined });
  });
});

it.each<[title: string, asked: Asked]>([
  ["other pets", { petIds: [7n] }],
  ["another crossing", { crossing: 1n }],
  ["the other order", { newestFirst: true }],
  ["another cursor", { after: issueCursor(lineage, 3n) }],
])("a page token is refused with %s", async (_title, asked) => {
  const store = history(1n, 7n);
  const { nextPageToken: pageToken } = await page(store, { pageSize: 1 });
  expect(await codeOf(page(store, { pageSize: 1, pageToken, ...asked }))).toBe("INVALID_PAGE_TOKEN");
});

it.each([false, true])("a made-up page token before all revisions is refused, newest first %s", async (newestFirst) => {
  const filter = [`lineage ${lineage}`, "crossing undefined", "after undefined", `newest first ${newestFirst}`];
  const tokenOf = (start: bigint) => issuePageToken({ name: "changes", filter }, start);
  expect(await codeOf(page(history(1n, 7n), { newestFirst, pageToken: tokenOf(0n) }))).toBeUndefined();
  for (const start of [-1n, minInt64]) {
    expect(await codeOf(page(history(1n, 7n), { newestFirst, pageToken: tokenOf(start) }))).toBe("INVALID_PAGE_TOKEN");
  }
});

it("a page token of another history is refused", async () => {
  const { nextPageToken: pageToken } = await page(history(1n, 7n), { pageSize: 1 });
  const restored = {
    ...history(1n, 7n),
    historyBounds: async () => ({ lineage: "ba9876543210", head: 7n, oldest: 1n }),
  };
  expect(await codeOf(page(restored, { pageSize: 1, pageToken }))).toBe("INVALID_PAGE_TOKEN");
});
