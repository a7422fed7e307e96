/**
 * A protoc plugin that writes `openapi.json`: an OpenAPI 3.1 description of what the gateway makes of the services. It
 * reads the options with the code that `protoc-gen-es` makes of them, so that has to run before.
 *
 * Options: `title` and `version` of the description; and `target=ts`, without which protoplugin takes the file for
 * source to be compiled, and drops it.
 */
import { createEcmaScriptPlugin, runNodeJs } from "@bufbuild/protoplugin";
import { createDocument } from "./openapi/document.ts";
import { parseInfo } from "./openapi/info.ts";

const plugin = createEcmaScriptPlugin({
  name: "protoc-gen-openapi",
  version: "v1",
  parseOptions: parseInfo,
  generateTs(schema) {
    if (schema.files.some(({ services }) => services.length > 0)) {
      const document = createDocument(schema.files, schema.options);
      schema.generateFile("openapi.json").print(JSON.stringify(document, undefined, 2));
    }
  },
});

runNodeJs(plugin);
