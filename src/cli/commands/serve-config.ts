import { createSecureContext } from "node:tls";
import type { ServerConfig } from "../../server/config.ts";
import { readSmallFile } from "../bounded-file.ts";
import { systemFailure, usageFailure } from "../failure.ts";
import type { SettingValues } from "../settings/settings.ts";

/** Creates the configuration of the server from the settings. Throws a `Failure` for a bad certificate or key. */
export function readServerConfig(values: SettingValues): ServerConfig {
  return {
    db: values.db,
    host: values.host,
    port: values.port,
    opsHost: values.opsHost,
    opsPort: values.opsPort,
    tls: readTls(values.tlsCert, values.tlsKey),
    reflection: !values.noReflection,
    baseUrls: { production: values.baseUrl, staging: values.stagingBaseUrl },
    corsOrigins: values.corsOrigin,
    maxBodyBytes: values.maxBody,
    requestTimeoutMs: values.requestTimeout,
    shutdownGraceMs: values.shutdownGrace,
    trustedProxies: values.trustedProxy,
    limits: values.limits,
    limitsFallback: values.limitsFallback,
    enforceSunset: values.enforceSunset,
    historyRetentionMs: values.historyRetention,
    allowPrivateWebhooks: values.allowPrivate,
    secretKey: values.secretKey,
    logLevel: values.logLevel,
  };
}

function readTls(certFile: string | undefined, keyFile: string | undefined): ServerConfig["tls"] {
  if (certFile === undefined && keyFile === undefined) {
    return undefined;
  }
  if (certFile === undefined || keyFile === undefined) {
    throw usageFailure("--tls-cert and --tls-key go together");
  }
  const tls = { cert: readSmallFile(certFile), key: readSmallFile(keyFile) };
  try {
    createSecureContext(tls);
  } catch (error) {
    throw systemFailure(`use ${certFile} with ${keyFile} for TLS`, error);
  }
  return tls;
}
