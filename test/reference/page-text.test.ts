import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { operationBadge } from "../../src/reference/badge.ts";
import { renderChapter } from "../../src/reference/chapter.ts";
import { highlight } from "../../src/reference/highlight.ts";
import { listServers } from "../../src/reference/server-list.ts";
import { importPageScript } from "./page-script.ts";

const { jsonLines } = (await importPageScript("json-lines")) as {
  readonly jsonLines: (text: string) => Iterable<string>;
};

function formatJson(text: string): string {
  return [...jsonLines(text)].join("\n");
}

const entities: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" };

function textOf(html: string): string {
  return html.replaceAll(/<[^>]*>/g, "").replaceAll(/&\w+;/g, (entity) => entities[entity] ?? entity);
}

describe("highlighting", () => {
  it.each(["sh", "ts", "py", "go", "json", "http", "yaml", "unknown"])("leaves the text of %s as it is", (language) => {
    fc.assert(fc.property(fc.string(), (code) => textOf(highlight(code, language)) === code));
  });

  it.each([
    [
      "sh",
      "curl -H 'a' # b",
      '<span class="keyword">curl</span> <span class="keyword">-H</span> <span class="string">\'a\'</span> <span class="comment"># b</span>',
    ],
    ["json", '{"a": 1}', '{<span class="string">&quot;a&quot;</span>: <span class="number">1</span>}'],
    ["http", "retry-after: 18", '<span class="keyword">retry-after</span>: <span class="number">18</span>'],
    ["sh", "http://127.0.0.1:80/7", "http://127.0.0.1:80/7"],
  ])("tells the parts of %s apart: %s", (language, code, html) => {
    expect(highlight(code, language)).toBe(html);
  });
});

describe("JSON as it is shown", () => {
  it("is indented as JSON.stringify does it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => formatJson(JSON.stringify(value)) === JSON.stringify(value, null, 2)),
    );
  });

  it("keeps the digits of integers", () => {
    expect(formatJson('[{"petId":9007199254740993},-9223372036854775808]')).toBe(
      '[\n  {\n    "petId": 9007199254740993\n  },\n  -9223372036854775808\n]',
    );
  });
});

describe("the badge of an operation", () => {
  it.each([
    [{ "x-stability": "beta" }, '<span class="badge beta">beta</span>'],
    [{ "x-stability": "experimental" }, '<span class="badge experimental">experimental</span>'],
    [
      { "x-stability": "stable", deprecated: true, "x-sunset": "2030-01-02" },
      '<span class="badge deprecated">deprecated · sunset 2030-01-02</span>',
    ],
  ])("says what it promises: %j", (operation, html) => {
    expect(operationBadge(operation as Parameters<typeof operationBadge>[0])).toBe(html);
  });
});

describe("a chapter", () => {
  const placeholders = { markdown: { plans: "**many**" }, html: { sample: "<pre>a\n\nb</pre>" } };

  it("is rendered with what it names", () => {
    const { id, title, html } = renderChapter("# Plans and limits\n\n{{plans}}\n\n{{sample}}\n", placeholders);
    expect([id, title]).toEqual(["plans-and-limits", "Plans and limits"]);
    expect(html).toBe("<p><strong>many</strong></p>\n<pre>a\n\nb</pre>\n");
  });

  it.each([
    ["# T\n\n{{nothing}}\n", "a chapter names {{nothing}}, which there is not"],
    ["no title", "a chapter begins without a title: no title"],
  ])("must name what there is: %j", (text, message) => {
    expect(() => renderChapter(text, placeholders)).toThrow(message);
  });
});

describe("the servers of a description", () => {
  it.each([
    [{ url: "/v1" }, { name: "This server", url: "http://127.0.0.1:8080/v1" }],
    [
      { url: "https://a.example/v1", description: "Production" },
      { name: "Production", url: "https://a.example/v1" },
    ],
  ])("are named and absolute: %j", (server, expected) => {
    const document = { servers: [server] } as unknown as Parameters<typeof listServers>[0];
    expect(listServers(document, "http://127.0.0.1:8080")).toEqual([expected]);
  });
});
