import { expect } from "vitest";
import type { HttpAnswer } from "../../support/http.ts";
import type { Json, Located, OpenApi } from "./openapi.ts";

/** Headers of the connection and of the body, which OpenAPI leaves to HTTP. */
const transportHeaders = ["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"];

type Answer = Pick<HttpAnswer, "status" | "headers" | "text">;

/**
 * Expects that the status, headers and body of an answer are described, and that nothing promised is missing.
 * `operation` is such as `GET /inventory`.
 */
export function expectDescribed(openApi: OpenApi, operation: string, answer: Answer): void {
  const found = openApi.operations.get(operation);
  expect(found, `the operation ${operation}`).toBeDefined();
  const responses = openApi.within(found as Located, "responses");
  expect(Object.keys(responses.value), `the status ${answer.status} of ${operation}`).toContain(String(answer.status));
  expectResponse(openApi, openApi.within(responses, String(answer.status)), answer);
}

/** As `expectDescribed`, for one response of the description. */
export function expectResponse(openApi: OpenApi, response: Located, answer: Answer): void {
  expectHeaders(openApi, response, answer);
  if (response.value.content === undefined) {
    expect(answer.headers.get("content-type")).toBeNull();
    expect(answer.text).toBe("");
    return;
  }
  const type = answer.headers.get("content-type") ?? "";
  expect(Object.keys(response.value.content as Json)).toContain(type);
  const media = openApi.within(openApi.within(response, "content"), type);
  const readItem = itemReaders[type];
  if (readItem !== undefined) {
    expect(openApi.faults(openApi.within(media, "x-item-schema"), readItem(answer.text)), answer.text).toEqual([]);
    return;
  }
  const body = JSON.parse(answer.text);
  expect(openApi.faults(openApi.within(media, "schema"), body), answer.text).toEqual([]);
  if (answer.status >= 400) {
    expect(body.status).toBe(answer.status);
    expect(Object.keys(media.value.examples as Json)).toContain(body.code);
  }
}

/** How the one item in the text of a stream is read, by media type. */
const itemReaders: Readonly<Record<string, (text: string) => unknown>> = {
  "application/x-ndjson": JSON.parse,
  "text/event-stream": (text) =>
    Object.fromEntries(
      text
        .trimEnd()
        .split("\n")
        .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
    ),
};

/** The headers of an answer without its body, as for HEAD. */
export function expectHeaders(openApi: OpenApi, response: Located, { headers }: Answer): void {
  const described = openApi.within(response, "headers");
  const names = Object.keys(described.value);
  const sent = [...headers.keys()].filter((name) => !transportHeaders.includes(name));
  const undescribed = sent.filter((name) => !names.some((known) => known.toLowerCase() === name));
  expect(undescribed, "headers that are not described").toEqual([]);
  for (const name of names) {
    const header = openApi.within(described, name);
    const value = headers.get(name);
    if (value === null) {
      expect(header.value.required, `${name} is missing`).toBe(false);
    } else {
      const schema = openApi.within(header, "schema");
      const typed = schema.value.type === "integer" ? Number(value) : value;
      expect(openApi.faults(schema, typed), `${name}: ${value}`).toEqual([]);
    }
  }
}
