import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import {
  issuePageToken,
  type ListIdentity,
  maxPageSize,
  type PagedList,
  parsePageToken,
  readPage,
} from "../../src/domain/page.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";

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
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => refuses(text, list)));
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
