import { describe, expect } from "vitest";
import { mintSecret } from "../../../src/domain/key.ts";
import { createHttp1Client, createHttp2Client, type HttpAnswer } from "../../support/http.ts";
import type { Random } from "../../support/random.ts";
import { type Acknowledged, acknowledgedBy, isOtherWrite, isUpdate } from "./acknowledged.ts";
import { type Draft, drafts } from "./drafts.ts";
import { mutate } from "./mutate.ts";
import { expectSamePets, type Stock } from "./stock.ts";
import { byteTokens, headerTokens, jsonTokens, numberTokens, prototypeTokens, urlTokens } from "./tokens.ts";
import type { WatchedServer } from "./watched-server.ts";
import { fuzzWire } from "./wire-cases.ts";

const headerMaterial = {
  tokens: [headerTokens, numberTokens].flat(),
  corpus: drafts.flatMap(({ headers }) => Object.values(headers)),
  maxLength: 2_000,
};
const pathMaterial = {
  tokens: [urlTokens, numberTokens, prototypeTokens].flat(),
  corpus: drafts.map(({ path }) => path),
  maxLength: 2_000,
};
const bodyMaterial = {
  tokens: [jsonTokens, numberTokens, prototypeTokens, byteTokens].flat(),
  corpus: drafts.flatMap(({ body }) => (body === undefined ? [] : [body.toString("latin1")])),
};
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** A valid request of any protocol, with one to three of its parts mutated, and an address that a proxy gives it. */
function nearlyValid(random: Random): Draft {
  const change = [changePath, changeHeader, changeBody, changeMethod, exchangeHeader];
  let draft: Draft = random.pick(drafts);
  for (let count = 1 + random.below(3); count > 0; count--) {
    draft = random.pick(change)(draft, random);
  }
  const address = `203.0.${random.below(256)}.${random.below(256)}`;
  return { ...draft, headers: { "x-forwarded-for": address, ...draft.headers } };
}

function changePath(draft: Draft, random: Random): Draft {
  const path = mutate(random, draft.path, pathMaterial).replace(/[^!-~\x80-\xff]/g, "");
  return { ...draft, path: path === "" ? "/" : path };
}

function changeHeader(draft: Draft, random: Random): Draft {
  const name = random.pick([...Object.keys(draft.headers), "content-type", "x-forwarded-for", "grpc-timeout"]);
  const value = mutate(random, draft.headers[name] ?? "", headerMaterial);
  // What no client can send is tried with bare bytes.
  return withHeader(draft, name, value.replace(/[^ -~\x80-\xff]/g, "").trim());
}

function changeMethod(draft: Draft, random: Random): Draft {
  return random.oneIn(4) ? { ...draft, method: random.pick(methods) } : draft;
}

function changeBody(draft: Draft, random: Random): Draft {
  const text = draft.body?.toString("latin1") ?? "";
  return { ...draft, body: Buffer.from(mutate(random, text, bodyMaterial), "latin1") };
}

/** A header that another request has, such as its content type. */
function exchangeHeader(draft: Draft, random: Random): Draft {
  const [name, value] = random.pick([...Object.entries(random.pick(drafts).headers), ["accept", "*/*"] as const]);
  return withHeader(draft, name, value);
}

function withHeader(draft: Draft, name: string, value: string): Draft {
  // No client library sends another value of this one over HTTP/2.
  return name === "te" ? draft : { ...draft, headers: { ...draft.headers, [name]: value } };
}

/**
 * How what is no request of HTTP/2 is refused (RFC 9113, 8.1.1); and what a client makes of a refusal over HTTP/1.1
 * that has a body, though it has meant to send HEAD.
 */
const noAnswer = /NGHTTP2_PROTOCOL_ERROR$|Data after `Connection: close`$/;

/**
 * Sends a request on a connection of its own, over either version of HTTP. Undefined where there is no answer that a
 * client reads.
 */
async function send(random: Random, draft: Draft, watched: WatchedServer): Promise<HttpAnswer | undefined> {
  const client = random.pick([createHttp1Client, createHttp2Client])(watched.server);
  try {
    const answer = await client.send(withLength(draft));
    expectNoInternals(answer, watched);
    return answer;
  } catch (reason) {
    if (reason instanceof Error && noAnswer.test(reason.message)) {
      return undefined;
    }
    throw reason;
  } finally {
    client.close();
  }
}

/** Node's client tells no length of a body by itself, where the method is one that mostly has none. */
function withLength(draft: Draft): Draft {
  return draft.body === undefined ? draft : withHeader(draft, "content-length", String(draft.body.length));
}

function expectNoInternals({ status, headers, trailers, text }: HttpAnswer, watched: WatchedServer): void {
  expect(status).not.toBe(500);
  expect(text).not.toMatch(/"code":"(?:INTERNAL|internal)"|grpc-status: (?:2|13)\b|\n {4}at /);
  const all = JSON.stringify([...headers, ...trailers, text]);
  for (const key of [watched.readerKey, watched.writerKey]) {
    expect(all).not.toContain(key);
  }
  for (const part of [headers, trailers]) {
    expect(["2", "13"]).not.toContain(part.get("grpc-status"));
  }
}

function isSuccess({ status, headers, trailers, text }: HttpAnswer): boolean {
  const grpcStatus = trailers.get("grpc-status") ?? headers.get("grpc-status") ?? /grpc-status: (\d+)/.exec(text)?.[1];
  const isGrpc = headers.get("content-type")?.toLowerCase().startsWith("application/grpc") ?? false;
  return status < 300 && (!isGrpc || grpcStatus === "0");
}

describe("requests that are nearly valid", () => {
  fuzzWire("are answered with nothing without a valid key", {
    usual: 600,
    long: 8_000,
    async tryCase(random, watched) {
      const minted = mintSecret((size) => Uint8Array.from({ length: size }, () => random.below(256)));
      const wrong = mutate(random, watched.writerKey, {
        tokens: [...headerTokens, "psk_"],
        corpus: [minted],
        maxLength: 2_000,
      });
      const authorization = random.pick([minted, wrong.replace(/[^ -~]/g, ""), "", `${watched.writerKey}0`]).trim();
      if (authorization === watched.writerKey) {
        return;
      }
      const draft = withHeader(nearlyValid(random), "authorization", `Bearer ${authorization}`);
      const answer = await send(random, draft, watched);
      const isOfApi = /\/v1\/|\/petstore\.v1\./.test(draft.path);
      expect(answer !== undefined && isSuccess(answer) && isOfApi, `${draft.method} ${draft.path}`).toBe(false);
    },
  });

  fuzzWire("change nothing with a key that may not", {
    usual: 600,
    long: 8_000,
    async tryCase(random, watched) {
      await send(random, withHeader(nearlyValid(random), "authorization", `Bearer ${watched.readerKey}`), watched);
    },
  });

  const acknowledged: Acknowledged[] = [];
  let isAnyUnavailable = false;

  fuzzWire("change what they say that they have changed, and nothing else", {
    usual: 600,
    long: 10_000,
    begin() {
      acknowledged.length = 0;
      isAnyUnavailable = false;
    },
    async tryCase(random, watched) {
      const draft = withHeader(nearlyValid(random), "authorization", `Bearer ${watched.writerKey}`);
      if (isOtherWrite(draft)) {
        return;
      }
      const answer = await send(random, draft, watched);
      if (answer === undefined || !isUpdate(draft)) {
        return;
      }
      const update = acknowledgedBy(answer);
      if (update !== undefined) {
        acknowledged.push(update);
      }
      isAnyUnavailable ||= isUnavailable(answer);
    },
    judge(now, before) {
      expectSamePets(now, before);
      if (!isAnyUnavailable) {
        expectAcknowledged(now, before);
      }
    },
  });

  /** Of all refused updates, only one that is so may have been made. */
  function isUnavailable({ headers, trailers, text }: HttpAnswer): boolean {
    const isSaid = /"code": ?"(?:UNAVAILABLE|unavailable)"|grpc-status: ?14\b/.test(text);
    return isSaid || [headers, trailers].some((part) => part.get("grpc-status") === "14");
  }

  /** Of those that have been made at the same time any may be the last. */
  function expectAcknowledged(now: Stock, before: Stock): void {
    for (const [petId, { quantity }] of now) {
      const updates = acknowledged.filter((update) => update.petId === petId).map((update) => update.quantity);
      const expected = updates.length > 0 ? updates : [before.get(petId)?.quantity];
      expect(expected, `pet ${petId}`).toContain(quantity);
    }
  }
});
