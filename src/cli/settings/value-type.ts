import { InvalidArgumentError } from "commander";
import { argument, listArgument } from "../parse/argument.ts";
import { parseBaseUrl } from "../parse/base-url.ts";
import { parseByteSize, writeByteSize } from "../parse/byte-size.ts";
import { parseCidr } from "../parse/cidr.ts";
import { writeDuration } from "../parse/duration.ts";
import { parseOrigin } from "../parse/origin.ts";
import { parseSwitch, switchForm } from "../parse/switch.ts";
import { parseGrace, parseTimeout } from "../parse/timer-duration.ts";
import { parsePort } from "../parse/whole-number.ts";

/** A value as it stands in the configuration file. */
export type FileValue = string | number | boolean | readonly string[];

/** What values a setting can have, and how they are written. */
export interface Kind<V> {
  /** What help calls a value, such as `<port>`. Undefined for a switch, whose flag takes none. */
  readonly placeholder: string | undefined;
  /** Reads a value, or adds one to those read before. Throws `InvalidArgumentError`. */
  readonly parse: (text: string, former: V | undefined) => V;
  /** Writes a value as it would stand in the configuration file. */
  readonly write: (value: V) => FileValue;
  /** The types that it may have in that file; of a list, those of its elements. */
  readonly fileTypes: readonly FileType[];
  /** The only values that there are, where they can be counted. */
  readonly choices?: readonly string[];
}

export type FileType = "text" | "number" | "switch";

/** A text that is not empty. `expected` completes the sentence `It must be …`. */
export function text(placeholder: string, expected: string): Kind<string> {
  const parse = argument((given) => given || undefined, expected);
  return { placeholder, parse, write: String, fileTypes: ["text"] };
}

/** One of some words. */
export function choice<Word extends string>(placeholder: string, choices: readonly Word[]): Kind<Word> {
  const parse = (given: string): Word => {
    const chosen = choices.find((word) => word === given);
    if (chosen === undefined) {
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.`);
    }
    return chosen;
  };
  return { placeholder, parse, write: String, fileTypes: ["text"], choices };
}

export const fileName: Kind<string> = {
  ...text("<file>", "the name of a file"),
  // YAML can write the one character that no name has, and Node throws for it.
  parse: argument((given) => (given.includes("\0") ? undefined : given || undefined), "the name of a file"),
};

export const hostName = text("<host>", "the name or the address of a host");

export const port: Kind<number> = {
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

/** In bytes. */
export const size: Kind<number> = {
  placeholder: "<size>",
  parse: argument(parseByteSize, "a number of bytes such as 1048576, 512KiB or 1MiB"),
  write: writeByteSize,
  fileTypes: ["text", "number"],
};

/** How long something may go on, in milliseconds. */
export const grace: Kind<number> = duration(parseGrace);

/** How long to wait for something, in milliseconds, which is not nothing. */
export const timeout: Kind<number> = duration(parseTimeout);

function duration(parse: (given: string) => number): Kind<number> {
  return { placeholder: "<duration>", parse, write: writeDuration, fileTypes: ["text"] };
}

export const baseUrl: Kind<string> = {
  placeholder: "<url>",
  parse: argument(
    parseBaseUrl,
    "an address that ends in /v1, such as https://api.example.com/v1, with no name or password in it",
  ),
  write: String,
  fileTypes: ["text"],
};

export const origins: Kind<readonly string[]> = {
  placeholder: "<origin>",
  parse: listArgument(parseOrigin, "an origin such as https://example.com, without a path"),
  write: (list) => list,
  fileTypes: ["text"],
};

export const networks: Kind<readonly string[]> = {
  placeholder: "<cidr>",
  parse: listArgument(parseCidr, "a network such as 10.0.0.0/8 or fd00::/8, or an address"),
  write: (list) => list,
  fileTypes: ["text"],
};

export const onOrOff: Kind<boolean> = {
  placeholder: undefined,
  parse: argument(parseSwitch, switchForm),
  write: (isOn) => isOn,
  fileTypes: ["switch", "number", "text"],
};
