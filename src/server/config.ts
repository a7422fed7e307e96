import type { BaseUrls } from "../reference/openapi.ts";

/**
 * What happens to requests while Valkey is away: each server counts them by itself from what it last knew, or refuses
 * all of them with `UNAVAILABLE`.
 */
export const limitsFallbacks = ["local", "refuse"] as const;

export type LimitsFallback = (typeof limitsFallbacks)[number];

/** The setting `limits` of a server that counts in its own memory. */
export const inMemory = "memory:";

/** The levels of the log, from nothing to every call. */
export const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(text: string): text is LogLevel {
  return (logLevels as readonly string[]).includes(text);
}

/** The settings of a server. The command line has their defaults. */
export interface ServerConfig {
  /** Where the store is: its file, or the URL of a PostgreSQL database, which may hold a password. */
  readonly db: string;
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly opsHost: string;
  /** 0 for any that is free. */
  readonly opsPort: number;
  /** PEM texts. Undefined for cleartext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Whether gRPC server reflection is served. */
  readonly reflection: boolean;
  /** The public URLs of the API, for the reference. */
  readonly baseUrls: BaseUrls;
  /** The origins whose pages may call the API; empty for none. */
  readonly corsOrigins: readonly string[];
  /** The largest body of a REST request, in bytes. */
  readonly maxBodyBytes: number;
  /** How long the head of a request may take to arrive, and then its body, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long running calls may go on when the server stops, in milliseconds. */
  readonly shutdownGraceMs: number;
  /** Networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. */
  readonly trustedProxies: readonly string[];
  /** Where limits are counted: `inMemory`, or the URL of Valkey or Redis, which may hold a password. */
  readonly limits: string;
  readonly limitsFallback: LimitsFallback;
  /** Whether deprecated methods stop answering at their sunset. */
  readonly enforceSunset: boolean;
  /** How long changes of stock stay part of the history, in milliseconds; infinity for ever. */
  readonly historyRetentionMs: number;
  /** Whether webhooks may be at addresses that are not public. */
  readonly allowPrivateWebhooks: boolean;
  /**
   * The key of 32 bytes that encrypts the secrets of webhooks in the store. Undefined if they are stored in plain text.
   */
  readonly secretKey: Uint8Array | undefined;
  readonly logLevel: LogLevel;
}
