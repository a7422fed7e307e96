/**
 * Gives the API of a server the interceptors of the module that `TEST_INTERCEPTORS` names. Servers are started with
 * `--import` of this file: nothing of the service itself knows of it.
 */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const api = pathToFileURL(join(import.meta.dirname, "..", "..", "..", "src", "server", "api.ts")).href;
const wrapper = new URL("api.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    return resolved.url === api && context.parentURL !== wrapper ? { ...resolved, url: wrapper } : resolved;
  },
});
