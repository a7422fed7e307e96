import { expect } from "vitest";
import type { Outcome } from "./clients/client.ts";
import { type ErrorCode, errorCodes } from "./error-codes.ts";
import type { HttpAnswer } from "./http.ts";
import type { Operation, Output } from "./operations.ts";

/** Expects success, and returns the message. */
export function expectSuccess<O extends Operation>({ message, failure }: Outcome<O>): Output<O> {
  expect(failure).toBeUndefined();
  return message as Output<O>;
}

/** Expects a refusal with this code, complete for its protocol. */
export function expectFailure({ failure, headers }: Outcome, code: ErrorCode): void {
  if (failure?.http === undefined) {
    expect(failure).toMatchObject({ code, canonical: errorCodes[code].canonical, domain: "petstore.v1" });
  } else {
    expectError({ status: failure.http, headers, body: failure.body }, code);
  }
}

/** Expects the Error body, exactly: its three fields, the status of the answer, and its content type. */
export function expectErrorBody(answer: Pick<HttpAnswer, "status" | "headers" | "text">, code: ErrorCode): void {
  expectError({ ...answer, body: JSON.parse(answer.text) }, code);
}

function expectError(answer: { status: number; headers: Headers; body: unknown }, code: ErrorCode): void {
  const { http } = errorCodes[code];
  expect(answer.body).toEqual({ code, message: expect.stringMatching(/\S/), status: http });
  expect(answer.status).toBe(http);
  expect(answer.headers.get("content-type")).toBe("application/json");
}

/** The three limit headers of every answer, as numbers. */
export interface LimitHeaders {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset: number;
}

/** Expects the limit headers, each once and complete, and those of the IETF draft. */
export function expectLimits(headers: Headers): LimitHeaders {
  for (const name of ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]) {
    expect(headers.get(name), name).toMatch(/^\d+$/);
  }
  expect(headers.get("ratelimit-policy")).toMatch(/^"minute";q=\d+;w=60(, "day";q=\d+;w=86400)?$/);
  expect(headers.get("ratelimit")).toMatch(/^"minute";r=\d+;t=\d+(, "day";r=\d+;t=\d+)?$/);
  return {
    limit: Number(headers.get("x-ratelimit-limit")),
    remaining: Number(headers.get("x-ratelimit-remaining")),
    reset: Number(headers.get("x-ratelimit-reset")),
  };
}
