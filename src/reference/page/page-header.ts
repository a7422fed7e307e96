import type { ApiServer } from "../openapi/document.ts";

/** The content of the page header. */
export interface PageHeader {
  /** The path of the icon. */
  readonly icon: string;
  /** The version of the API. */
  readonly version: string;
  readonly servers: readonly ApiServer[];
}

/** The header of the page, which stays in view: search, the reader's key, and the colour scheme. */
export function pageHeader({ icon, version, servers }: PageHeader): string {
  return `<header>
<button type="button" class="menu" aria-expanded="false" aria-controls="navigation"><span class="bars" aria-hidden="true"></span><span class="unseen">Menu</span></button>
<a class="brand" href="#overview" aria-label="Petstore Inventory"><img src="${icon}" alt="" width="28" height="28"><span>Petstore Inventory</span></a>
<span class="version">API ${version}</span>
<button type="button" class="find" aria-haspopup="dialog"><span class="words">Search</span><kbd aria-hidden="true">/</kbd></button>
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
