/**
 * A protoc plugin that writes `api.ts`: the types of the TypeScript client, which import no package. The types of
 * protobuf-es need TypeScript 5.7, and say nothing of scopes and error reasons. It reads the options with the code that
 * `protoc-gen-es` makes of them, so that has to run before.
 *
 * Option: `target=ts`, without which protoplugin takes the file for source to be compiled.
 */
import { createEcmaScriptPlugin, runNodeJs } from "@bufbuild/protoplugin";
import { printApi } from "./client-types/api.ts";

/** The package whose services and messages the client has. */
const packageName = "petstore.v1";

const plugin = createEcmaScriptPlugin({
  name: "protoc-gen-client-types",
  version: "v1",
  generateTs(schema) {
    const files = schema.allFiles.filter(({ proto }) => proto.package === packageName);
    printApi(schema.generateFile("api.ts"), files);
  },
});

runNodeJs(plugin);
