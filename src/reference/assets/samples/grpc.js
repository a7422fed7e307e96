// @ts-check
import { authorization, headerOptions, joinLines, quote } from "./shell.js";

/**
 * The call by grpcurl, which learns the API by reflection.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeGrpcurl({ baseUrl, rpc, metadata, message }) {
  return message.fault === undefined
    ? joinLines([...grpcurl(baseUrl), ...headerOptions(metadata), ...data(message), `${hostOf(baseUrl)} ${rpc}`])
    : `# ${message.fault}`;
}

/**
 * The commands of grpcurl that list the services of a server, and describe one.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeReflection({ baseUrl, rpc }) {
  const [program] = grpcurl(baseUrl);
  const service = rpc.slice(0, rpc.indexOf("/"));
  return `${program} ${hostOf(baseUrl)} list\n${program} ${hostOf(baseUrl)} describe ${service}`;
}

/**
 * The call by `buf curl`, over gRPC.
 *
 * @param {import("./call.js").SampleCall} call
 */
export function writeBufCurl({ baseUrl, rpc, metadata, message }) {
  const { protocol, origin } = new URL(baseUrl);
  return message.fault === undefined
    ? joinLines([
        `buf curl --protocol grpc${protocol === "https:" ? "" : " --http2-prior-knowledge"}`,
        authorization,
        ...headerOptions(metadata),
        ...data(message),
        `${origin}/${rpc}`,
      ])
    : `# ${message.fault}`;
}

/** @param {string} baseUrl */
function grpcurl(baseUrl) {
  return [new URL(baseUrl).protocol === "https:" ? "grpcurl" : "grpcurl -plaintext", authorization];
}

/** @param {import("./message.js").SampleMessage} message */
function data({ json }) {
  return json === "{}" ? [] : [`-d ${quote(json)}`];
}

/**
 * The host with its port. gRPC needs even the default port.
 *
 * @param {string} baseUrl
 */
export function hostOf(baseUrl) {
  const { protocol, hostname, port } = new URL(baseUrl);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
