import { logLevels } from "../../observability/log-level.ts";
import { optional, required, type Setting, secret, several, toggle } from "./setting.ts";
import {
  baseUrl,
  choice,
  fileName,
  grace,
  hostName,
  networks,
  onOrOff,
  origins,
  port,
  size,
  timeout,
} from "./value-type.ts";

/**
 * All settings of `petstore serve`. The name here makes the flag, the variable and the name in the file: `opsPort` is
 * `--ops-port`, `PETSTORE_OPS_PORT` and `ops-port`. Help, `petstore config` and the table in docs/operations.md show the
 * descriptions that stand here.
 */
export const settings = {
  db: required<string>(fileName, "the file of the store; every command takes it", "data/petstore.db"),
  host: required<string>(hostName, "the address to listen on", "127.0.0.1"),
  port: required<number>(port, "the API's port, 0 for a free one", "8080"),
  opsHost: required<string>(hostName, "the operator's address", "127.0.0.1"),
  opsPort: required<number>(port, "the port of health, metrics and status, 0 for a free one", "9090"),
  tlsCert: optional<string>(fileName, "speak TLS, with this certificate chain in PEM"),
  tlsKey: secret(optional<string>(fileName, "the certificate's private key in PEM")),
  baseUrl: optional<string>(baseUrl, "where the reference says that the API is, ending in /v1"),
  stagingBaseUrl: optional<string>(baseUrl, "where the reference says that staging is, ending in /v1"),
  corsOrigin: several(origins, "an origin whose pages may call the API"),
  trustedProxy: several(networks, "a network whose X-Forwarded-For to believe"),
  maxBody: required<number>(size, "the largest request body, in bytes or as 512KiB or 1MiB", "1MiB"),
  requestTimeout: required<number>(timeout, "how long a request may take to arrive", "30s"),
  shutdownGrace: required<number>(grace, "how long running calls may finish", "10s"),
  logLevel: required<string>(choice<string>("<level>", logLevels), "how much to log", "info"),
  demo: toggle(onOrOff, "put pets into an empty store, and mint a key to try"),
  noReflection: toggle(onOrOff, "do not describe the API to gRPC tools"),
  enforceSunset: toggle(onOrOff, "answer 410 for what is past its sunset date"),
};

export type SettingKey = keyof typeof settings;

/** The values of the settings; durations are in milliseconds, sizes in bytes. */
export type SettingValues = {
  readonly [Key in SettingKey]: (typeof settings)[Key] extends Setting<infer V> ? V : never;
};
