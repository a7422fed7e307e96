import { type Command, Option } from "commander";
import { argument, listArgument } from "./argument.ts";
import { parseBaseUrl } from "./base-url.ts";
import { parseByteSize } from "./byte-size.ts";
import { parseCidr } from "./cidr.ts";
import { durationOption, parseGrace, parseTimeout } from "./duration-option.ts";
import { parseOrigin } from "./origin.ts";
import { addSwitch } from "./switch.ts";
import { parsePort } from "./whole-number.ts";

/** The flags of `petstore serve`, as they come out of commander. */
export interface ServeOptions {
  readonly db: string;
  readonly host: string;
  readonly port: number;
  readonly opsHost: string;
  readonly opsPort: number;
  readonly demo?: boolean;
  readonly reflection: boolean;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly baseUrl?: string;
  readonly stagingBaseUrl?: string;
  readonly corsOrigin?: readonly string[];
  /** In bytes. */
  readonly maxBody: number;
  /** In milliseconds. */
  readonly shutdownGrace: number;
  /** In milliseconds. */
  readonly requestTimeout: number;
  readonly trustedProxy?: readonly string[];
  readonly enforceSunset?: boolean;
  readonly logLevel: string;
}

const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"];

/** Gives a command the flags of `serve`, each with its environment variable. */
export function addServeOptions(command: Command): void {
  const port = argument(parsePort, "a port from 0 to 65535, 0 for any that is free");
  const size = argument(parseByteSize, "a number of bytes such as 1048576, 512KiB or 1MiB");
  const baseUrl = argument(parseBaseUrl, "an address that ends in /v1, such as https://api.example.com/v1");
  const origins = listArgument(parseOrigin, "an origin such as https://example.com, without a path");
  const networks = listArgument(parseCidr, "a network such as 10.0.0.0/8 or fd00::/8, or an address");
  const options = [
    new Option("--host <host>", "the address to listen on").default("127.0.0.1").env("PETSTORE_HOST"),
    new Option("--port <port>", "the API's port, 0 for a free one").argParser(port).default(8080).env("PETSTORE_PORT"),
    new Option("--ops-host <host>", "the operator's address").default("127.0.0.1").env("PETSTORE_OPS_HOST"),
    new Option("--ops-port <port>", "the port of /healthz and /readyz")
      .argParser(port)
      .default(9090)
      .env("PETSTORE_OPS_PORT"),
    new Option("--tls-cert <file>", "speak TLS, with this certificate chain in PEM").env("PETSTORE_TLS_CERT"),
    new Option("--tls-key <file>", "the certificate's private key in PEM").env("PETSTORE_TLS_KEY"),
    new Option("--base-url <url>", "where the reference says that the API is, ending in /v1")
      .argParser(baseUrl)
      .env("PETSTORE_BASE_URL"),
    new Option("--staging-base-url <url>", "where the reference says that staging is, ending in /v1")
      .argParser(baseUrl)
      .env("PETSTORE_STAGING_BASE_URL"),
    new Option("--cors-origin <origin>", "an origin whose pages may call the API; may be repeated")
      .argParser(origins)
      .env("PETSTORE_CORS_ORIGIN"),
    new Option("--trusted-proxy <cidr>", "a network whose X-Forwarded-For to believe; may be repeated")
      .argParser(networks)
      .env("PETSTORE_TRUSTED_PROXY"),
    new Option("--max-body <size>", "the largest request body, in bytes or as 512KiB or 1MiB")
      .argParser(size)
      .default(1_048_576, "1MiB")
      .env("PETSTORE_MAX_BODY"),
    durationOption("--request-timeout <duration>", "how long a request may take to arrive", "30s", parseTimeout).env(
      "PETSTORE_REQUEST_TIMEOUT",
    ),
    durationOption("--shutdown-grace <duration>", "how long running calls may finish", "10s", parseGrace).env(
      "PETSTORE_SHUTDOWN_GRACE",
    ),
    new Option("--log-level <level>", "how much to log").choices(logLevels).default("info").env("PETSTORE_LOG_LEVEL"),
  ];
  for (const option of options) {
    command.addOption(option);
  }
  addSwitch(command, "--demo", "put pets into an empty store, and mint a key to try", "PETSTORE_DEMO");
  addSwitch(command, "--no-reflection", "do not describe the API to gRPC tools", "PETSTORE_NO_REFLECTION");
  addSwitch(command, "--enforce-sunset", "answer 410 for what is past its sunset date", "PETSTORE_ENFORCE_SUNSET");
}
