import type { Chapter } from "./chapter.ts";
import { navigation } from "./navigation.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { operationTemplates } from "./operation-template.ts";

/** What the page of the reference is made of. */
export interface PageParts {
  readonly version: string;
  /** Where the assets are, without a slash at the end. */
  readonly assets: string;
  readonly chapters: readonly Chapter[];
  readonly operations: readonly OperationEntry[];
  /** The address that the code samples call. */
  readonly baseUrl: string;
  /** The origin in it, if that is the page's own server: browsers put in its place what they know the server by. */
  readonly ownOrigin: string | undefined;
}

/** The style sheets: what stands on colours and typography comes after them. */
const styles = [
  "theme",
  "page",
  "badge",
  "prose",
  "code",
  "form",
  "operation",
  "parameter",
  "schema",
  "answer",
  "notice",
] as const;

/** The page of the reference, whole. Without scripts it has all but the operations. */
export function writePage({ version, assets, chapters, operations, baseUrl, ownOrigin }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Reference of the Petstore Inventory API: quick start, limits, errors, and every operation to try.">
<title>Petstore Inventory API</title>
<link rel="icon" href="${assets}/icon.svg" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="${assets}/${name}.css">`).join("\n")}
<script src="${assets}/color-scheme.js"></script>
<script src="${assets}/swagger-ui-bundle.js" defer></script>
<script src="${assets}/reference.js" type="module"></script>
</head>
<body${ownOrigin === undefined ? "" : ` data-own-origin="${ownOrigin}"`}>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="#overview"><img src="${assets}/icon.svg" alt="" width="28" height="28"><span>Petstore Inventory</span></a>
<span class="version">API ${version}</span>
<button type="button" class="menu" aria-expanded="false" aria-controls="navigation">Menu</button>
<button type="button" class="scheme">Dark</button>
</header>
<nav id="navigation" aria-label="Reference">${navigation(chapters, operations)}</nav>
<main id="content" tabindex="-1">
${chapters.map(writeChapter).join("\n")}
${operationsSection}
</main>
${operationTemplates(operations, baseUrl)}
</body>
</html>
`;
}

function writeChapter({ id, title, html }: Chapter): string {
  const level =
    id === "overview" ? `<h1>Petstore Inventory API</h1>` : `<h2><a class="anchor" href="#${id}">${title}</a></h2>`;
  return `<section id="${id}" aria-label="${title}" class="prose">\n${level}\n${html}</section>`;
}

const operationsSection = `<section id="operations" aria-label="Operations">
<h2><a class="anchor" href="#operations">Operations</a></h2>
<form class="key">
<label for="api-key">Your API key</label>
<div><input id="api-key" type="password" placeholder="psk_…" autocomplete="off" spellcheck="false" aria-describedby="key-note">
<button type="submit">Use this key</button><button type="button" class="forget" hidden>Forget it</button></div>
<p id="key-note" role="status">Enter it to try the operations. It stays in this tab, and is forgotten when the tab is closed.</p>
</form>
<div id="swagger-ui"><noscript><p>The operations need JavaScript. Their description is at <a href="/openapi.json">/openapi.json</a>.</p></noscript></div>
</section>`;
