import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import openApi from "../../gen/openapi.json" with { type: "json" };
import { planQuotas } from "../../src/domain/limits.ts";
import { errorCodes } from "../support/error-codes.ts";
import { projectRoot } from "../support/petstore.ts";

function read(name: string): string {
  return readFileSync(join(projectRoot, name), "utf8");
}

const documents = globSync(["*.md", "docs/*.md", "bench/*.md", "client/*.md"], { cwd: projectRoot });

/** The anchors of a document's headings, as GitHub and GitLab make them. */
function anchorsOf(name: string): string[] {
  const prose = read(name).replaceAll(/^```.*?^```/gms, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** Whether a path from the project's root, with or without an anchor, leads somewhere. */
function leadsSomewhere(link: string): boolean {
  const [name = "", anchor] = link.split("#");
  const isThere = globSync(name, { cwd: projectRoot }).length === 1;
  return isThere && (anchor === undefined || anchorsOf(name).includes(anchor));
}

describe("the documents", () => {
  it.each(documents)("have no link that leads nowhere: %s", (name) => {
    const links = [...read(name).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const paths = links
      .filter((link) => !/^https?:/.test(link))
      .map((link) =>
        link.startsWith("#") ? name + link : relative(projectRoot, resolve(projectRoot, dirname(name), link)),
      );
    expect(paths.filter((path) => !leadsSomewhere(path))).toEqual([]);
  });

  it("have the sections that comments cite", () => {
    const files = globSync(["src/**/*.ts", "test/**/*.ts"], { cwd: projectRoot });
    const cites = files.flatMap((file) => [...read(file).matchAll(/docs\/\w+\.md(?:#[\w-]+)?/g)].map(([cite]) => cite));
    expect(cites.filter((cite) => !leadsSomewhere(cite))).toEqual([]);
  });
});

describe.each(["docs/contract.md", "README.md"])("the operations in %s", (name) => {
  const described = Object.entries(openApi.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      "x-rpc" in operation ? [{ ...operation, route: `${method.toUpperCase()} /v1${path}` }] : [],
    ),
  );

  it.each(described)("have $operationId, with its route and its scope", ({ route, ...operation }) => {
    const rpc = operation["x-rpc"].replace("petstore.v1.", "");
    const scope = "x-scope" in operation ? `\`${operation["x-scope"]}\`` : "none";
    expect(read(name)).toContain(`| \`${rpc}\` | \`${route}\` | ${scope} |`);
  });
});

describe("the contract", () => {
  const contract = read("docs/contract.md");

  it("has every error code, with its HTTP status and canonical code", () => {
    const rows = [...contract.matchAll(/^\| (\d{3}) \| `(\w+)` \| `([A-Z_]+)` \|/gm)];
    const found = Object.fromEntries(
      rows.map(([, http, canonical, code]) => [code, { http: Number(http), canonical }]),
    );
    expect(found).toEqual(errorCodes);
  });

  it("has the quota of each plan, as the README has", () => {
    for (const [plan, { perMinute, perDay }] of Object.entries(planQuotas)) {
      const numbers = [perMinute, perDay].map((number) => number.toLocaleString("en")).join(" | ");
      expect(contract).toContain(`| \`${plan}\` | ${numbers} |`);
      expect(read("README.md")).toContain(`| ${plan} | ${numbers} |`);
    }
  });
});
