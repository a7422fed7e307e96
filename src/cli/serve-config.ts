import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { ServerConfig } from "../server/config.ts";
import { systemFailure, usageFailure } from "./failure.ts";
import type { ServeOptions } from "./serve-options.ts";

/** Makes the server's configuration of the flags. Throws a `Failure` for a certificate that cannot be used. */
export function readServerConfig(options: ServeOptions): ServerConfig {
  return {
    db: options.db,
    host: options.host,
    port: options.port,
    opsHost: options.opsHost,
    opsPort: options.opsPort,
    tls: readTls(options.tlsCert, options.tlsKey),
    reflection: options.reflection,
    baseUrls: { production: options.baseUrl, staging: options.stagingBaseUrl },
    corsOrigins: options.corsOrigin ?? [],
    maxBodyBytes: options.maxBody,
    requestTimeoutMs: options.requestTimeout,
    shutdownGraceMs: options.shutdownGrace,
    trustedProxies: options.trustedProxy ?? [],
    enforceSunset: options.enforceSunset ?? false,
    logLevel: options.logLevel,
  };
}

function readTls(certFile: string | undefined, keyFile: string | undefined): ServerConfig["tls"] {
  if (certFile === undefined && keyFile === undefined) {
    return undefined;
  }
  if (certFile === undefined || keyFile === undefined) {
    throw usageFailure("--tls-cert and --tls-key go together");
  }
  const tls = { cert: readPem(certFile), key: readPem(keyFile) };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw systemFailure(`use ${certFile} with ${keyFile} for TLS`, error);
  }
  return tls;
}

function readPem(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw systemFailure(`read ${file}`, error);
  }
}
