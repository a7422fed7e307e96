import { InvalidArgumentError, Option } from "commander";
import { inMemory, type LimitsFallback, type LogLevel, limitsFallbacks, logLevels } from "../../server/config.ts";
import { usageFailure } from "../failure.ts";
import {
  baseUrl,
  booleanSwitch,
  choice,
  databaseUrl,
  fileName,
  grace,
  hostName,
  keyFile,
  limitsUrl,
  networks,
  origins,
  port,
  retention,
  secretKey,
  size,
  storeFile,
  timeout,
  type ValueType,
} from "./value-type.ts";

/** A setting of the service. A flag, a variable or the configuration file gives its value. */
export interface Setting<V> {
  readonly type: ValueType<Exclude<V, undefined>>;
  /** What it decides, for the help and for the table in `docs/operations.md`. */
  readonly description: string;
  readonly defaultValue: V;
  /** Whether no message may repeat a value that is wrong. */
  readonly isSecret: boolean;
}

/**
 * All settings of `petstore serve`. The name here makes the flag, the variable and the name in the file: `opsPort` is
 * `--ops-port`, `PETSTORE_OPS_PORT` and `ops-port`. Help, `petstore config` and the table in docs/operations.md show
 * the descriptions below.
 */
export const settings = {
  db: required<string>(storeFile, "the file of the store", "data/petstore.db"),
  database: optional<string>(
    databaseUrl,
    "the store: sqlite:FILE, for which --db is short, or postgres://USER:PASSWORD@HOST/DATABASE",
  ),
  host: required<string>(hostName, "the address to listen on", "127.0.0.1"),
  port: required<number>(port, "the API's port, 0 for a free one", "8080"),
  opsHost: required<string>(hostName, "the address of the operator's port", "127.0.0.1"),
  opsPort: required<number>(port, "the port of health, metrics and status, 0 for a free one", "9090"),
  tlsCert: optional<string>(fileName, "speak TLS, with this certificate chain in PEM"),
  tlsKey: secret(optional<string>(keyFile, "the certificate's private key in PEM")),
  baseUrl: optional<string>(baseUrl, "the URL of the API in the reference, ending in /v1"),
  stagingBaseUrl: optional<string>(baseUrl, "the URL of the staging API in the reference, ending in /v1"),
  corsOrigin: several(origins, "an origin whose pages may call the API"),
  trustedProxy: several(networks, "a network of proxies whose X-Forwarded-For is trusted"),
  limits: required<string>(limitsUrl, "where limits are counted: memory:, or the URL of Valkey or Redis", inMemory),
  limitsFallback: required<LimitsFallback>(
    choice("<how>", limitsFallbacks),
    "while Valkey is away: count locally, or refuse requests",
    "local",
  ),
  maxBody: required<number>(size, "the largest request body, in bytes or as 512KiB or 1MiB", "1MiB"),
  requestTimeout: required<number>(timeout, "how long a request may take to arrive", "30s"),
  shutdownGrace: required<number>(grace, "how long running calls may finish", "10s"),
  historyRetention: required<number>(retention, "how long the history of the stock is kept, or forever", "90d"),
  allowPrivate: toggle("deliver to webhooks at addresses that are not public, too"),
  secretKey: secret(
    optional<Uint8Array>(secretKey, "encrypts the secrets of webhooks in the store: 32 bytes in base64"),
  ),
  logLevel: required<LogLevel>(choice("<level>", logLevels), "how much to log", "info"),
  demo: toggle("put pets into an empty store, and create a key to try"),
  noReflection: toggle("do not describe the API to gRPC tools"),
  enforceSunset: toggle("answer 410 for operations past their sunset date"),
};

export type SettingKey = keyof typeof settings;

/** The values of the settings; durations are in milliseconds, sizes in bytes. */
export type SettingValues = {
  readonly [Key in SettingKey]: (typeof settings)[Key] extends Setting<infer V> ? V : never;
};

/** A setting that always has a value. `defaultValue` is written as on the command line. */
function required<V>(type: ValueType<Exclude<V, undefined>>, description: string, defaultValue: string): Setting<V> {
  return { type, description, defaultValue: type.parse(defaultValue, undefined), isSecret: false };
}

/** A setting that may be absent. */
function optional<V>(type: ValueType<Exclude<V, undefined>>, description: string): Setting<V | undefined> {
  return { type: type as Setting<V | undefined>["type"], description, defaultValue: undefined, isSecret: false };
}

/** A setting with any number of values. */
function several<V>(type: ValueType<readonly V[]>, description: string): Setting<readonly V[]> {
  return { type, description: `${description}; may be repeated`, defaultValue: [], isSecret: false };
}

/** A switch that is off by default. */
function toggle(description: string): Setting<boolean> {
  return { type: booleanSwitch, description, defaultValue: false, isSecret: false };
}

/** The same setting, whose wrong values may be secrets, too. */
function secret<V>(setting: Setting<V>): Setting<V> {
  return { ...setting, isSecret: true };
}

/** The name of a setting in the configuration file, such as `ops-port`. */
export function nameOf(key: SettingKey): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The variable of a setting, such as `PETSTORE_OPS_PORT`. */
export function variableOf(key: SettingKey): string {
  return `PETSTORE_${nameOf(key).replaceAll("-", "_").toUpperCase()}`;
}

/** The flag of a setting, such as `--ops-port`. */
export function flagOf(key: SettingKey): string {
  return `--${nameOf(key)}`;
}

/** The option of a command for a setting: its flag and its variable. */
export function createOption(key: SettingKey): Option {
  const { type, description, defaultValue, isSecret } = settings[key] as Setting<unknown>;
  if (type.placeholder === undefined) {
    // Commander turns a switch on whenever its variable is set, even by PETSTORE_DEMO=0. So `resolve.ts` reads it.
    return new Option(flagOf(key), `${description} (env: ${variableOf(key)})`);
  }
  const option = new Option(`${flagOf(key)} ${type.placeholder}`, description).env(variableOf(key));
  if (type.choices !== undefined) {
    option.choices(type.choices);
  }
  if (defaultValue !== undefined && !Array.isArray(defaultValue)) {
    option.default(defaultValue, String(type.write(defaultValue)));
  }
  return option.argParser(isSecret ? (given, former) => parseSecret(key, given, former) : type.parse);
}

/** Commander would repeat a bad value in its message. */
function parseSecret(key: SettingKey, given: string, former: unknown): unknown {
  try {
    return (settings[key] as Setting<unknown>).type.parse(given, former);
  } catch (error) {
    throw error instanceof InvalidArgumentError
      ? usageFailure(`the value of ${flagOf(key)} or ${variableOf(key)} is invalid. ${error.message}`)
      : error;
  }
}
