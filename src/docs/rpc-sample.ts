import { type CodeTab, codeTabs } from "./code-block.ts";
import type { SampleCall } from "./samples/call.ts";
import { writeCurl } from "./samples/curl.ts";
import { writeGrpcurl } from "./samples/grpcurl.ts";

/** How tools learn the API by reflection, and call it, as tabs. */
export function reflectionTabs(call: SampleCall): string {
  const program = new URL(call.url).protocol === "https:" ? "grpcurl" : "grpcurl -plaintext";
  const { host } = new URL(call.url);
  const service = call.rpc.replace(/\/.*/, "");
  return tabs("grpcurl", [
    ["Call", writeGrpcurl(call)],
    ["List", `${program} ${host} list`],
    ["Describe", `${program} ${host} describe ${service}`],
  ]);
}

/** A call of an RPC over Connect by curl: by POST, and by GET where it has no side effects. */
export function connectTabs(update: SampleCall, list: SampleCall): string {
  const query = new URLSearchParams({ encoding: "json", message: list.message, connect: "v1" });
  const get = { ...list, url: `"${rpcUrl(list)}?${decodeURIComponent(query.toString())}"` };
  return tabs("Connect", [
    [
      "POST",
      writeCurl({ ...update, method: "POST", url: rpcUrl(update), body: update.message }).replace(" \\\n  -X POST", ""),
    ],
    ["GET", writeCurl(get).replace("curl ", "curl --globoff ")],
  ]);
}

function rpcUrl({ url, rpc }: SampleCall): string {
  return `${new URL(url).origin}/${rpc}`;
}

function tabs(name: string, codes: readonly (readonly [string, string])[]): string {
  return codeTabs(
    name,
    codes.map(([label, code]): CodeTab => ({ label, syntax: "sh", code })),
  );
}
