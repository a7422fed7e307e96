import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { highlight } from "../../../src/reference/assets/highlight.js";
import { renderChapter } from "../../../src/reference/chapters/chapter.ts";
import { operationBadge } from "../../../src/reference/elements.ts";
import { listServers } from "../../../src/reference/openapi.ts";

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
    ["json", '{"a": 1}', '{<span class="keyword">&quot;a&quot;</span>: <span class="number">1</span>}'],
    ["json", '["a", null]', '[<span class="string">&quot;a&quot;</span>, <span class="keyword">null</span>]'],
    ["ts", "f({ id: 7n })", 'f({ id: <span class="number">7n</span> })'],
    ["http", "retry-after: 18", '<span class="keyword">retry-after</span>: <span class="number">18</span>'],
    ["sh", "http://127.0.0.1:80/7", "http://127.0.0.1:80/7"],
  ])("highlights %s: %s", (language, code, html) => {
    expect(highlight(code, language)).toBe(html);
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
  ])("shows the stability: %j", (operation, html) => {
    expect(operationBadge(operation as Parameters<typeof operationBadge>[0])).toBe(html);
  });
});

describe("a chapter", () => {
  const placeholders = {
    markdown: { plans: "**many**" },
    code: { sample: "<pre>a\n\nb</pre>" },
    wide: { list: "<div>list</div>" },
  };

  const render = (text: string) => renderChapter(text, placeholders);

  it("is rendered with what it names", () => {
    const { id, title, html } = render("# Plans and limits\n\n{{plans}}\n\n{{sample}}\n");
    expect([id, title]).toEqual(["plans-and-limits", "Plans and limits"]);
    expect(textOf(html).replaceAll(/\s+/g, " ").trim()).toBe("many a b");
    expect(html).toContain("<p><strong>many</strong></p>");
    expect(html).toContain("<pre>a\n\nb</pre>");
  });

  it("has its code beside the prose about it, and is in the order of the text", () => {
    const { html } = render("# T\n\none\n\n## Two\n\nthree\n\n{{sample}}\n\nfour\n\nfive\n\n```\nsix\n```\n\nseven\n");
    expect(html.replaceAll(/<\/?(?:p|a|h3|code|pre)\b[^>]*>|\s+/g, "")).toBe(
      '<divclass="cards"><divclass="card">one</div></div>' +
        '<divclass="splitprose"><divclass="before">Twothree</div><divclass="shown">ab</div><divclass="after">four</div></div>' +
        '<divclass="splitprose"><divclass="before">five</div><divclass="shown"><divclass="code">six</div></div><divclass="after">seven</div></div>',
    );
  });

  it("has what needs the whole width by itself, and the rest side by side", () => {
    const { html } = render("# T\n\n## A\n\na\n\n## B\n\nb\n\n## C\n\n{{list}}\n");
    expect(html.match(/class="\w+"/g)).toEqual(
      ["cards", "card", "anchor", "card", "anchor", "wide", "anchor"].map((name) => `class="${name}"`),
    );
  });

  it.each([
    ["# T\n\n{{nothing}}\n", "a chapter has the unknown placeholder {{nothing}}"],
    ["no title", "a chapter has no title: no title"],
  ])("is refused: %j", (text, message) => {
    expect(() => render(text)).toThrow(message);
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
