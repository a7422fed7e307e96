import type { BaseUrls } from "../reference/openapi/document.ts";

/** How a server runs. The command line has the defaults. */
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
  /** Where the API is reached, for the reference. */
  readonly baseUrls: BaseUrls;
  /** The origins whose pages may call the API; empty for none. */
  readonly corsOrigins: readonly string[];
  /** The size of the largest REST request body. */
  readonly maxBodyBytes: number;
  /** How long a request may take to arrive: its head, and again its body. */
  readonly requestTimeoutMs: number;
  /** How long running calls may go on after the server is told to stop. */
  readonly shutdownGraceMs: number;
  /** Networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed. */
  readonly trustedProxies: readonly string[];
  /** Whether deprecated methods stop answering at their sunset. */
  readonly enforceSunset: boolean;
  readonly logLevel: string;
}
