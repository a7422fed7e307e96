import type { DescService } from "@bufbuild/protobuf";
import { HeaderList } from "../http/header-list.ts";
import { type AssetFolder, createAsset, earlyScript, type Page, readAssetFolder } from "./asset.ts";
import { escapeHtml } from "./assets/html.js";
import { type Chapter, readChapters } from "./chapters/chapter.ts";
import { templateValues } from "./chapters/template-values.ts";
import { inline, operationBadge, toAnchor } from "./elements.ts";
import { type ApiServer, foreignOrigins, listServers, type OpenApiDocument } from "./openapi.ts";
import { type OperationContext, operationView } from "./operation-view.ts";
import { listOperations, type OperationEntry } from "./operations.ts";

/** The options of the reference. */
interface ReferenceOptions {
  /** The description at `/openapi.json`. The samples call its first server. */
  readonly document: OpenApiDocument;
  readonly services: readonly DescService[];
  /** The origin of the server that serves the reference. */
  readonly ownOrigin: string;
}

/** Creates the pages of the reference by path: `/docs`, its assets, and redirects to it. */
export function createReference({ document, services, ownOrigin }: ReferenceOptions): ReadonlyMap<string, Page> {
  const assets = readAssetFolder();
  const operations = listOperations(document, services);
  const servers = listServers(document, ownOrigin);
  const baseUrl = servers[0]?.url ?? "";
  const origins = foreignOrigins(document);
  const body = writePage({
    document,
    assets,
    chapters: readChapters(templateValues({ document, operations, servers, baseUrl })),
    groups: groupOperations(document, operations),
    operations,
    servers,
    baseUrl,
    ownOrigin: origins.length === 0 ? new URL(ownOrigin).origin : undefined,
  });
  const page = createAsset({ type: "text/html; charset=utf-8", body, header: securityHeader(origins) });
  return new Map([["/", redirectTo("/docs")], ["/docs", page], ["/docs/", redirectTo("/docs")], ...assets.pages]);
}

function redirectTo(location: string): Page {
  return () => ({ status: 308, header: HeaderList.from({ location }) });
}

/**
 * The security headers of the page. It loads scripts and styles only from its own server, and calls only that server and
 * the origins of the API.
 *
 * Source: https://www.w3.org/TR/CSP3/
 */
function securityHeader(apiOrigins: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...new Set(apiOrigins)].join(" "),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}

/** The parts of the page. */
interface PageParts extends OperationContext {
  readonly assets: Pick<AssetFolder, "path" | "modules">;
  readonly chapters: readonly [overview: Chapter, ...guides: Chapter[]];
  readonly groups: readonly OperationGroup[];
  readonly servers: readonly ApiServer[];
  /** The origin of the page's own server, if the API is there. Browsers replace it with the one in their address bar. */
  readonly ownOrigin: string | undefined;
}

/** The page of the reference. It can be read without scripts. */
function writePage(parts: PageParts): string {
  const { assets, chapters, groups, servers, ownOrigin } = parts;
  const [overview, ...guides] = chapters;
  return `<!doctype html>
<html lang="en" data-language="curl">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Reference of the Petstore Inventory API: every operation to try, limits, errors and samples.">
<title>Petstore Inventory API</title>
<link rel="icon" href="${assets.path}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${assets.path}/reference.css">
<script src="${assets.path}/${earlyScript}"></script>
${assets.modules.map((name) => `<link rel="modulepreload" href="${assets.path}/${name}">`).join("\n")}
<script src="${assets.path}/reference.js" type="module"></script>
</head>
<body data-base-url="${parts.baseUrl}"${ownOrigin === undefined ? "" : ` data-own-origin="${ownOrigin}"`}>
<a class="skip" href="#content">Skip to the content</a>
${pageHeader({ icon: `${assets.path}/icon.svg`, version: parts.document.info.version, servers })}
<nav id="navigation" aria-label="Reference">${navigation(groups, overview, guides)}</nav>
<main id="content" tabindex="-1">
<section class="guide" id="${overview.id}" aria-label="${overview.title}">
<h1>Petstore Inventory API</h1>
${overview.html}</section>
<div id="operations">
${groups.map((group) => writeGroup(group, parts)).join("\n")}
</div>
${guides.map(writeGuide).join("\n")}
</main>
</body>
</html>
`;
}

function writeGroup({ id, title, description, entries }: OperationGroup, parts: PageParts): string {
  const text = description === "" ? "" : `<p>${inline(description)}</p>`;
  return (
    `<section class="group" id="${id}" aria-label="${title}"><div class="opening"><h2><a class="anchor" href="#${id}">${title}</a></h2>` +
    `${text}</div>\n${entries.map((entry) => operationView(entry, parts)).join("\n")}</section>`
  );
}

function writeGuide({ id, title, html }: Chapter): string {
  const name = escapeHtml(title);
  return `<section class="guide" id="${id}" aria-label="${name}">\n<h2><a class="anchor" href="#${id}">${name}</a></h2>\n${html}</section>`;
}

/** The content of the page header. */
interface PageHeader {
  /** The path of the icon. */
  readonly icon: string;
  /** The version of the API. */
  readonly version: string;
  readonly servers: readonly ApiServer[];
}

/** The header of the page, which stays in view: search, the reader's key, and the colour scheme. */
function pageHeader({ icon, version, servers }: PageHeader): string {
  return `<header>
<button type="button" class="menu" aria-expanded="false" aria-controls="navigation"><span class="bars" aria-hidden="true"></span><span class="unseen">Menu</span></button>
<a class="brand" href="#overview" aria-label="Petstore Inventory"><img src="${icon}" alt="" width="28" height="28"><span>Petstore Inventory</span></a>
<span class="version">API ${version}</span>
<button type="button" class="find" aria-haspopup="dialog" title="Press / or Ctrl+K (⌘K on a Mac)"><span class="words">Search</span><kbd aria-hidden="true">/</kbd></button>
<div class="key-bar">
<button type="button" class="key-toggle" aria-expanded="false" aria-controls="key-panel">API key</button>
<div id="key-panel">
<form class="key" novalidate>
<label class="unseen" for="api-key">Your API key</label>
<input id="api-key" type="password" placeholder="Your API key, psk_…" autocomplete="off" spellcheck="false" aria-describedby="key-note">
<button type="submit">Use key</button>
</form>
<div class="plan" hidden><span class="name"></span><span class="left"></span><button type="button" class="forget">Forget key</button></div>
<p id="key-note" role="status"></p>
${serverChoice(servers)}
</div>
<p class="accepted unseen" role="status"></p>
</div>
<button type="button" class="scheme" aria-label="Switch to dark colours"><span aria-hidden="true"></span></button>
</header>`;
}

/** One server needs no choice. */
function serverChoice(servers: readonly ApiServer[]): string {
  if (servers.length < 2) {
    return "";
  }
  const options = servers.map(({ name, url }) => `<option value="${url}">${name}</option>`);
  return `<label class="server">Server <select id="server" autocomplete="off">${options.join("")}</select></label>`;
}

/** The operations of one tag. */
interface OperationGroup {
  readonly id: string;
  readonly title: string;
  /** Empty where the group has none. */
  readonly description: string;
  readonly entries: readonly OperationEntry[];
}

/**
 * Groups the operations by the groups that they name, or by their first tag. Groups with a stable operation come first;
 * otherwise they keep the order of the description.
 */
function groupOperations({ tags }: OpenApiDocument, entries: readonly OperationEntry[]): OperationGroup[] {
  const tagOf = new Map(tags.map((tag) => [tag.name, tag]));
  const titleOf = ({ operation }: OperationEntry) =>
    operation["x-group"] ?? tagOf.get(operation.tags[0] ?? "")?.["x-displayName"] ?? "";
  const descriptions = new Map(tags.map(({ "x-displayName": title, description }) => [title, description]));
  return [...Map.groupBy(entries, titleOf)]
    .map(([title, members]) => ({
      id: toAnchor(title),
      title,
      description: descriptions.get(title) ?? "",
      entries: members,
    }))
    .sort((a, b) => Number(hasStable(b)) - Number(hasStable(a)));
}

function hasStable({ entries }: OperationGroup): boolean {
  return entries.some(({ operation }) => operation["x-stability"] === "stable");
}

/** The links to all chapters and operations, as HTML. */
function navigation(groups: readonly OperationGroup[], overview: Chapter, guides: readonly Chapter[]): string {
  return [
    list("Get started", [
      `<a href="#${overview.id}">${escapeHtml(overview.title)}</a>`,
      `<a href="#${overview.id}-quick-start">Quick start</a>`,
    ]),
    ...groups.map(({ id, title, entries }) => list(`<a href="#${id}">${title}</a>`, entries.map(operationLink))),
    list(
      "Guides",
      guides.map(({ id, title }) => `<a href="#${id}">${escapeHtml(title)}</a>`),
    ),
    list("For tools", ['<a href="/openapi.json">openapi.json</a>']),
  ].join("\n");
}

function list(title: string, links: readonly string[]): string {
  return `<h2>${title}</h2><ul>${links.map((link) => `<li>${link}</li>`).join("")}</ul>`;
}

function operationLink(entry: OperationEntry): string {
  return (
    `<a href="#${entry.id}" data-path="${entry.method} ${entry.path}"><span>${entry.title}</span>${marker(entry)}` +
    `<span class="method ${entry.method.toLowerCase()}">${entry.method}</span></a>`
  );
}

/** A stable operation has no marker. A date does not fit here. */
function marker({ operation }: OperationEntry): string {
  const badge = operationBadge(operation);
  return operation["x-stability"] === "stable" && operation.deprecated !== true ? "" : badge.replace(/ · [^<]*/, "");
}
