// @ts-check
import { keyVariable } from "./call.js";

/**
 * The property of the client for each service.
 *
 * @type {Readonly<Record<string, string>>}
 */
const members = {
  HoldService: "holds",
  InventoryService: "inventory",
  LimitService: "keyLimits",
  PetService: "pets",
  StoreService: "store",
};

/**
 * The call by the project's client, whose 64-bit integers are `bigint`s.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeTypeScript(call) {
  const { baseUrl, message } = call;
  if (message.fault !== undefined) {
    return `// ${message.fault}`;
  }
  return [
    `import { ${["createPetstoreClient", ...message.enums].join(", ")} } from "petstore-inventory-client";`,
    "",
    "const petstore = createPetstoreClient({",
    `  baseUrl: ${JSON.stringify(baseUrl)},`,
    `  apiKey: process.env.${keyVariable} ?? "",`,
    "});",
    "",
    ...writeUse(call),
  ].join("\n");
}

/** @param {import("./call.js").SampleCall} call */
function writeUse({ rpc, metadata, message, result, isPaged, isStream }) {
  const [service = "", name = ""] = rpc.slice(rpc.lastIndexOf(".") + 1).split("/");
  const method = name.charAt(0).toLowerCase() + name.slice(1);
  if (isPaged || isStream) {
    const item = result.replace(/s$/, "");
    const request = message.typescript === "{}" ? "" : message.typescript;
    return [`for await (const ${item} of petstore.${method}(${request})) {`, `  console.log(${item});`, "}"];
  }
  const entries = metadata.map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const options = entries.length === 0 ? "" : `, { headers: { ${entries.join(", ")} } }`;
  return [
    `const { ${result} } = await petstore.${members[service]}.${method}(${message.typescript}${options});`,
    `console.log(${result});`,
  ];
}
