import "./code-block.js";
import "./code-tabs.js";
import "./count-down.js";
import { answerPlugin } from "./answer-plugin.js";
import { connectKeyForm } from "./key-form.js";
import { layoutPlugin } from "./layout-plugin.js";
import { dropMalformedFragment, linkPlugin } from "./link-plugin.js";
import { connectNavigation } from "./navigation.js";
import { operationPlugin } from "./operation-plugin.js";
import { showOwnAddress } from "./own-address.js";

dropMalformedFragment();
showOwnAddress(document.body.dataset.ownOrigin);

const ui = globalThis.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  layout: "ReferenceLayout",
  deepLinking: true,
  docExpansion: "list",
  defaultModelExpandDepth: 3,
  // The colours of code are the page's own.
  syntaxHighlight: { activated: false },
  // No other host is asked whether the description is valid.
  validatorUrl: null,
  plugins: [layoutPlugin, operationPlugin, answerPlugin, linkPlugin],
  onComplete: () => connectKeyForm(ui),
});

connectNavigation();
addEventListener("hashchange", () => ui.layoutActions.parseDeepLinkHash(location.hash));
