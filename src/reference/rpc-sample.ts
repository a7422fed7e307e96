import type { CodeTab } from "./code-block.ts";
import type { SampleCall } from "./samples/call.ts";
import { writeCurl } from "./samples/curl.ts";
import { writeGrpcurl } from "./samples/grpcurl.ts";

/** How grpcurl learns the API by reflection, and calls it. */
export function reflectionSamples(call: SampleCall): CodeTab[] {
  const [program = "", ...others] = writeGrpcurl(call).split(" \\\n  ");
  const host = others.at(-1)?.split(" ")[0];
  const service = call.rpc.slice(0, call.rpc.indexOf("/"));
  return [
    shellTab("Call", writeGrpcurl(call)),
    shellTab("List", `${program} ${host} list`),
    shellTab("Describe", `${program} ${host} describe ${service}`),
  ];
}

/** Calls of RPCs over Connect by curl: by POST, and of one without side effects by GET. */
export function connectSamples(update: SampleCall, list: SampleCall): CodeTab[] {
  const post = writeCurl({ ...update, method: "POST", url: rpcUrl(update), body: update.message });
  const query = `connect=v1&encoding=json&message=${encodeURIComponent(list.message)}`;
  return [
    // A body makes it a POST.
    shellTab("POST", post.replace("-X POST \\\n  ", "")),
    shellTab("GET", writeCurl({ ...list, url: `"${rpcUrl(list)}?${query}"` })),
  ];
}

function rpcUrl({ url, rpc }: SampleCall): string {
  return `${new URL(url).origin}/${rpc}`;
}

function shellTab(label: string, code: string): CodeTab {
  return { label, syntax: "sh", code };
}
