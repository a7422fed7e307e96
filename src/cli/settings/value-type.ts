import { InvalidArgumentError } from "commander";
import { mask, maskCredentials } from "../../domain/masking.ts";
import {
  argument,
  durationForm,
  limitsUrlForm,
  listArgument,
  parseBaseUrl,
  parseByteSize,
  parseCidr,
  parseDuration,
  parseLimitsUrl,
  parseOrigin,
  parsePort,
  parseTimerDuration,
  writeByteSize,
  writeDuration,
} from "../arguments.ts";

/** A value as it is written in the configuration file. */
export type FileValue = string | number | boolean | readonly string[];

/** The type of a setting's value: how it is read and written. */
export interface ValueType<V> {
  /** The value's name in the help, such as `<port>`. Undefined for a switch, whose flag takes no value. */
  readonly placeholder: string | undefined;
  /** Reads a value, or adds one to `former`, the values read before. Throws `InvalidArgumentError`. */
  readonly parse: (text: string, former: V | undefined) => V;
  /** Writes a value as it is written in the configuration file, or a mask for what must not be shown. */
  readonly write: (value: V) => FileValue;
  /** The YAML types that it can have in that file. For a list, those of its elements. */
  readonly fileTypes: readonly FileType[];
  /** All possible values, where they can be listed. */
  readonly choices?: readonly string[];
}

export type FileType = "text" | "number" | "switch";

/** A text that is not empty. `expected` completes the sentence `It must be …`. */
function text(placeholder: string, expected: string): ValueType<string> {
  const parse = argument((given) => given || undefined, expected);
  return { placeholder, parse, write: String, fileTypes: ["text"] };
}

/** One of a few words. */
export function choice<Word extends string>(placeholder: string, choices: readonly Word[]): ValueType<Word> {
  const parse = (given: string): Word => {
    const chosen = choices.find((word) => word === given);
    if (chosen === undefined) {
      throw new InvalidArgumentError(`Allowed choices are ${choices.join(", ")}.`);
    }
    return chosen;
  };
  return { placeholder, parse, write: String, fileTypes: ["text"], choices };
}

export const fileName: ValueType<string> = {
  ...text("<file>", "the name of a file"),
  // YAML can write NUL. No file name has it, and Node throws for it.
  parse: argument((given) => (given.includes("\0") ? undefined : given || undefined), "the name of a file"),
};

/** A file that cannot be stdin or stdout, which `-` stands for in other commands. */
export const nameOfRealFile: ValueType<string> = {
  ...fileName,
  parse: (given, former) => {
    if (given === "-") {
      throw new InvalidArgumentError("It must be the name of a file, and not stdin or stdout.");
    }
    return fileName.parse(given, former);
  },
};

/** The file of a secret key. A key in its place would be shown with the name. */
export const keyFile: ValueType<string> = {
  ...fileName,
  parse: (given, former) => {
    if (given.includes("-----BEGIN")) {
      throw new InvalidArgumentError("It must be the name of a file, and not the key itself.");
    }
    return fileName.parse(given, former);
  },
};

/** The bytes of a key for AES-256, given in base64. */
export const secretKey: ValueType<Uint8Array> = {
  placeholder: "<key>",
  parse: argument((given) => {
    const bytes = Buffer.from(given, "base64");
    return /^[A-Za-z0-9+/]{43}=$/.test(given) && bytes.length === 32 ? bytes : undefined;
  }, "32 bytes in base64, such as `openssl rand -base64 32` prints"),
  write: () => mask,
  fileTypes: ["text"],
};

/** In bytes. */
export const size: ValueType<number> = {
  placeholder: "<size>",
  parse: argument(parseByteSize, "a number of bytes such as 1048576, 512KiB or 1MiB, and not zero"),
  write: writeByteSize,
  fileTypes: ["text", "number"],
};

/** A duration for a timer, in milliseconds. */
export const grace = duration(argument(parseTimerDuration, "a duration such as 10s or 5m, of 24d at most"));

/** A duration for a timer, in milliseconds, that is not zero. */
export const timeout = duration(
  argument(
    (given) => parseTimerDuration(given) || undefined,
    "a duration such as 30s or 5m, of 24d at most, and not zero",
  ),
);

/** How long something is kept, in milliseconds; infinity for ever. */
export const retention: ValueType<number> = {
  ...duration(
    argument(
      (given) => (given === "forever" ? Infinity : parseDuration(given) || undefined),
      `${durationForm}, and not zero, or forever`,
    ),
  ),
  write: (value) => (value === Infinity ? "forever" : writeDuration(value)),
};

function duration(parse: (given: string) => number): ValueType<number> {
  return { placeholder: "<duration>", parse, write: writeDuration, fileTypes: ["text"] };
}

const switchValues: ReadonlyMap<string, boolean> = new Map([
  ["false", false],
  ["true", true],
  ["0", false],
  ["1", true],
]);

/** The form of a switch. Completes the sentence `It must be …`. */
export const switchForm = "true or false, or 1 or 0";

/** A switch: `true`, `false`, `1` or `0`, in either case. */
export const booleanSwitch: ValueType<boolean> = {
  placeholder: undefined,
  parse: argument((given) => switchValues.get(given.toLowerCase()), switchForm),
  write: (isOn) => isOn,
  fileTypes: ["switch", "number", "text"],
};

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
  parse: argument(parseLimitsUrl, limitsUrlForm),
  write: maskCredentials,
  fileTypes: ["text"],
};

/** Where the store is: a file, or the URL from `--database`. It is shown without its password. */
export const storeFile: ValueType<string> = { ...fileName, write: maskCredentials };

/** The URL of a store. It is shown without its password. */
export const databaseUrl: ValueType<string> = {
  placeholder: "<url>",
  parse: argument(
    (given) => (/^(sqlite:(?!(?i:postgres(ql)?:))[^\0]+|postgres(ql)?:\/\/[^\0]+)$/.test(given) ? given : undefined),
    "sqlite: and a file, or the URL of a PostgreSQL database, which begins with postgres://",
  ),
  write: maskCredentials,
  fileTypes: ["text"],
};
