import { describe, expect } from "vitest";
import { DomainError } from "../../../src/domain/errors.ts";
import { issuePageToken, parsePageToken } from "../../../src/domain/page.ts";
import { fuzz } from "./cases.ts";
import { mutate } from "./mutate.ts";
import { refusalOf } from "./refusal.ts";
import { unicodeTokens } from "./tokens.ts";

const filters = [[], ["sold"], ["available", "sold"], ["placed"]];
const names = ["inventory", "orders"];

describe("a page token", () => {
  fuzz(
    "leads where it was issued for, and nowhere else once it is changed",
    { usual: 2_000, long: 80_000 },
    (random) => {
      const list = { name: random.pick(names), filter: random.pick(filters) };
      const after = random.int64();
      const token = issuePageToken(list, after);
      expect(parsePageToken(list, token)).toBe(after);
      const other = issuePageToken({ name: random.pick(names), filter: random.pick(filters) }, random.int64());
      const material = {
        tokens: ["=", "==", "+", "/", "-", "_", "A", "AA", "____", ...unicodeTokens],
        corpus: [other],
      };
      const changed = mutate(random, token, material);
      if (changed === token || changed === other) {
        return;
      }
      const refusal = refusalOf(() => parsePageToken(list, changed));
      expect(refusal).toBeInstanceOf(DomainError);
      expect((refusal as DomainError).code).toBe("INVALID_PAGE_TOKEN");
    },
  );
});
