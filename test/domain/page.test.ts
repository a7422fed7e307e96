import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import {
  issuePageToken,
  maxPageSize,
  type PagedList,
  type PagePosition,
  parsePageToken,
  readPage,
} from "../../src/domain/page.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";

const int64 = fc.bigInt(minInt64, maxInt64);

function refuses(token: string, belongsTo: Omit<PagePosition, "after">) {
  try {
    parsePageToken(token, belongsTo);
  } catch (error) {
    return error instanceof DomainError && error.code === "INVALID_PAGE_TOKEN";
  }
  return false;
}

describe("a page token", () => {
  const position = { list: "inventory", statuses: ["available", "sold"], after: 42n };
  const token = issuePageToken(position);

  it("is short, and fit for a URL", () => {
    expect(token).toMatch(/^[0-9A-Za-z_-]{18}$/);
  });

  it("leads back to any id", () => {
    fc.assert(
      fc.property(int64, (after) => parsePageToken(issuePageToken({ ...position, after }), position) === after),
    );
  });

  it.each([[["available", "sold"]], [["sold", "available"]], [["sold", "available", "sold"]]])(
    "is valid for its filter, written as %j",
    (statuses) => {
      expect(parsePageToken(token, { list: "inventory", statuses })).toBe(42n);
    },
  );

  it.each([
    ["inventory", []],
    ["inventory", ["available"]],
    ["inventory", ["available", "pending"]],
    ["inventory", ["available,sold"]],
    ["orders", ["available", "sold"]],
    ["", ["available", "sold"]],
  ])("is refused by the list %j with the filter %j", (list, statuses) => {
    expect(refuses(token, { list, statuses })).toBe(true);
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
    expect(refuses(text, position)).toBe(true);
  });

  it("is refused with any one character changed", () => {
    fc.assert(
      fc.property(fc.nat(17), fc.base64String({ minLength: 4, maxLength: 4 }), (index, [character = "A"]) => {
        fc.pre(character !== token[index]);
        return refuses(token.slice(0, index) + character + token.slice(index + 1), position);
      }),
    );
  });

  it("is refused as random text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => refuses(text, position)));
  });
});

describe("a page", () => {
  /** Seven entries, 0 to 6. */
  const list: PagedList<bigint, "even" | "odd"> = {
    name: "numbers",
    idOf: (item) => item,
    read: async ({ statuses, after = -1n, limit = 100 }) =>
      [0n, 1n, 2n, 3n, 4n, 5n, 6n]
        .filter((n) => statuses.length === 0 || statuses.includes(n % 2n === 0n ? "even" : "odd"))
        .filter((n) => n > after)
        .slice(0, limit),
  };

  async function readAll(pageSize: number, statuses: readonly ("even" | "odd")[] = []) {
    const pages: bigint[][] = [];
    let pageToken: string | undefined;
    do {
      const page = await readPage(list, { statuses, pageSize, pageToken });
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
    expect(await readAll(2, ["even"])).toEqual([
      [0n, 2n],
      [4n, 6n],
    ]);
  });

  it("without a size holds all that remains", async () => {
    const first = await readPage(list, { statuses: [], pageSize: 2, pageToken: undefined });
    const rest = await readPage(list, { statuses: [], pageSize: undefined, pageToken: first.nextPageToken });
    expect(rest).toEqual({ items: [2n, 3n, 4n, 5n, 6n], nextPageToken: undefined });
  });

  it("is cut to the largest size", async () => {
    let limit: number | undefined;
    const spy: typeof list = {
      ...list,
      read: async (query) => {
        limit = query.limit;
        return [];
      },
    };
    await readPage(spy, { statuses: [], pageSize: maxPageSize + 1, pageToken: undefined });
    expect(limit).toBe(maxPageSize + 1);
  });

  it("is refused when its token belongs to another filter", async () => {
    const { nextPageToken: pageToken } = await readPage(list, { statuses: ["odd"], pageSize: 1, pageToken: undefined });
    await expect(readPage(list, { statuses: [], pageSize: 1, pageToken })).rejects.toThrow(DomainError);
  });
});
