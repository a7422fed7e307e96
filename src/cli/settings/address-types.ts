import { InvalidArgumentError } from "commander";
import { maskCredentials } from "../../domain/masking.ts";
import { parseBaseUrl, parseCidr, parseOrigin, parsePort } from "../parse/address.ts";
import { argument, listArgument } from "../parse/argument.ts";
import { parseLimitsUrl } from "../parse/limits-url.ts";
import { text, type ValueType } from "./value-type.ts";

export const hostName = text("<host>", "the name or the address of a host");

export const port: ValueType<number> = {
  placeholder: "<port>",
  parse: parsePortOption,
  write: Number,
  fileTypes: ["number"],
};

function parsePortOption(given: string): number {
  if (/^(tcp|udp|sctp):\/\//.test(given)) {
    throw new InvalidArgumentError(
      "Kubernetes sets this for a Service of that name: give the pod 'enableServiceLinks: false', or the Service another name.",
    );
  }
  return parsePortNumber(given);
}

const parsePortNumber = argument(parsePort, "a port from 0 to 65535, 0 for any that is free");

export const baseUrl: ValueType<string> = {
  placeholder: "<url>",
  parse: argument(
    parseBaseUrl,
    "a URL that ends in /v1, such as https://api.example.com/v1, without a user name or password",
  ),
  write: String,
  fileTypes: ["text"],
};

export const origins: ValueType<readonly string[]> = {
  placeholder: "<origin>",
  parse: listArgument(parseOrigin, "an origin such as https://example.com, without a path"),
  write: (list) => list,
  fileTypes: ["text"],
};

export const networks: ValueType<readonly string[]> = {
  placeholder: "<cidr>",
  parse: listArgument(parseCidr, "a network such as 10.0.0.0/8 or fd00::/8, or an address"),
  write: (list) => list,
  fileTypes: ["text"],
};

/** It is shown without its user and password. */
export const limitsUrl: ValueType<string> = {
  placeholder: "<url>",
  parse: parseLimitsUrl,
  write: maskCredentials,
  fileTypes: ["text"],
};
