import { describe, expect } from "vitest";
import { type FoundKey, isSecret, mintSecret, newKey } from "../../../src/domain/key.ts";
import { CallRecord, type Exchange } from "../../../src/http/exchange.ts";
import { authInterceptor, callerKey, createIdentify } from "../../../src/interceptors/auth.ts";
import { Call, type CallResponse } from "../../../src/rpc/call.ts";
import { operations } from "../../support/operations.ts";
import type { Random } from "../../support/random.ts";
import { fuzz } from "./cases.ts";
import { maxHeaderLength, mutate, mutated } from "./mutate.ts";
import { headerTokens, unicodeTokens } from "./tokens.ts";

const tokens = [...headerTokens, ...unicodeTokens, "bearer", "Basic ", "psk_", "0".repeat(36)];

function mint(random: Random): string {
  return mintSecret((size) => Uint8Array.from({ length: size }, () => random.below(256)));
}

describe("a key", () => {
  fuzz("that is changed is no longer one, before any look-up", { usual: 2_000, long: 100_000 }, (random) => {
    const secret = mint(random);
    const other = mint(random);
    expect(isSecret(secret)).toBe(true);
    const changed = mutate(random, secret, { tokens: [...tokens, "a", "Z", "9"], corpus: [other] });
    expect(changed === secret || changed === other || !isSecret(changed), changed).toBe(true);
  });
});

describe("Authorization", () => {
  const method = operations.listInventory;
  const found: FoundKey = {
    key: newKey({ id: "key_1", name: "", plan: "free", createdAtMs: 0 }),
    endsAtMs: Infinity,
  };

  fuzz("lets in who sends one line, with the very key", { usual: 1_000, long: 60_000 }, async (random) => {
    const secret = mint(random);
    const corpus = [`Bearer ${secret}`, `bearer   ${secret}`, `Bearer ${mint(random)}`, "Basic YTpi", ""];
    const lines = Array.from({ length: random.pick([0, 1, 1, 1, 1, 2]) }, () =>
      mutated(random, { tokens, corpus, maxLength: maxHeaderLength }),
    );
    const asked: string[] = [];
    const keys = {
      find: async (text: string) => {
        asked.push(text);
        return text === secret ? found : undefined;
      },
    };
    const call = callWith(lines);
    await authInterceptor(createIdentify(keys, () => 0)).wrap(async () => ({}) as CallResponse, method)(call);
    const isIn = call.contextValues.get(callerKey)?.key !== undefined;
    const [line = ""] = lines;
    expect(isIn).toBe(lines.length === 1 && /^bearer +/i.test(line) && line.slice(7).trim() === secret);
    expect(asked.length).toBeLessThanOrEqual(1);
  });

  function callWith(lines: readonly string[]): Call {
    const exchange = { headerLines: () => lines, record: new CallRecord() } as unknown as Exchange;
    const read = () => Promise.reject(new Error("unread"));
    return new Call(method as Call["method"], { exchange, protocolName: "rest", timeoutMs: undefined, read });
  }
});
