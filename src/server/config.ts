import type { BaseUrls } from "../reference/openapi/document.ts";

/** The settings of a server. The command line has their defaults. */
export interface ServerConfig {
  /** The store's file. */
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
  /** Whether deprecated methods stop answering at their sunset. */
  readonly enforceSunset: boolean;
  /** How long changes of stock stay part of the history, in milliseconds; infinity for ever. */
  readonly historyRetentionMs: number;
  readonly logLevel: string;
}
