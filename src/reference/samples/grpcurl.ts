import { keyVariable, type SampleCall } from "./call.ts";

/** The call by grpcurl, which learns the API by reflection. */
export function writeGrpcurl({ url, rpc, message }: SampleCall): string {
  const { protocol, hostname, port } = new URL(url);
  const isEncrypted = protocol === "https:";
  const parts = [
    isEncrypted ? "grpcurl" : "grpcurl -plaintext",
    `-H "Authorization: Bearer $${keyVariable}"`,
    ...(message === "{}" ? [] : [`-d '${message}'`]),
    `${hostname}:${port || (isEncrypted ? "443" : "80")} ${rpc}`,
  ];
  return parts.join(" \\\n  ");
}
