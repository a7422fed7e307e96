import { readFileSync } from "node:fs";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { maskCredentials } from "../../../domain/masking.ts";
import { isPostgresUrl } from "../../../domain/store.ts";

/** Where a database is, and how to connect to it. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  /** How to speak TLS; false for not at all. */
  readonly tls: TlsOptions | false;
  /** Whether a connection that fails with TLS is tried without. */
  readonly isTlsOptional: boolean;
  /** The name that PostgreSQL shows for the connections, such as in `pg_stat_activity`. */
  readonly applicationName: string;
  /** Whether connections may wait for notifications. A pooler that shares connections cannot do that. */
  readonly usesNotifications: boolean;
  /** The URL as it may be shown: without its password. */
  readonly shown: string;
}

const knownParameters = ["sslmode", "sslrootcert", "application_name", "listen"];

const tlsModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

type TlsMode = (typeof tlsModes)[number];

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full&sslrootcert=FILE&listen=off`. Throws
 * `DatabaseError`, whose message has no password.
 *
 * Source: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const shown = maskCredentials(text);
  const url = parse(text, shown);
  for (const name of url.searchParams.keys()) {
    if (!knownParameters.includes(name)) {
      throw new DatabaseError(`${shown}: has the parameter '${name}', and may have ${knownParameters.join(", ")}`);
    }
  }
  const [host, user, database] = [url.hostname, decode(url.username), decode(url.pathname.slice(1))];
  if (host === "" || user === "" || database === "") {
    throw new DatabaseError(`${shown}: must be postgres://USER:PASSWORD@HOST:PORT/DATABASE`);
  }
  const mode = choiceOf(url, shown, "sslmode", tlsModes) ?? "disable";
  return {
    host: host.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 5432 : Number(url.port),
    user,
    password: url.password === "" ? undefined : decode(url.password),
    database,
    tls: tlsOptionsOf(mode, url, shown),
    isTlsOptional: mode === "prefer",
    applicationName: url.searchParams.get("application_name") ?? "petstore",
    usesNotifications: choiceOf(url, shown, "listen", ["on", "off"]) !== "off",
    shown,
  };
}

function parse(text: string, shown: string): URL {
  try {
    const url = new URL(text);
    if (isPostgresUrl(text)) {
      return url;
    }
  } catch {
    // A text that is no URL gets the error below.
  }
  throw new DatabaseError(`${shown}: is not the URL of a PostgreSQL database; it begins with postgres://`);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function choiceOf<Choice extends string>(
  url: URL,
  shown: string,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = url.searchParams.get(name);
  if (value !== null && !choices.includes(value as Choice)) {
    throw new DatabaseError(`${shown}: ${name} must be one of ${choices.join(", ")}`);
  }
  return (value as Choice | null) ?? undefined;
}

/**
 * `prefer` and `require` encrypt, and take any certificate; `verify-ca` and `verify-full` take one of a known authority,
 * the latter for this host alone. As in libpq, `require` with `sslrootcert` verifies the authority.
 */
function tlsOptionsOf(mode: TlsMode, url: URL, shown: string): TlsOptions | false {
  const file = url.searchParams.get("sslrootcert");
  if (mode === "disable") {
    return false;
  }
  const authority = file === null ? {} : { ca: readCertificate(file, shown) };
  const verifies = mode === "require" ? file !== null : mode !== "prefer";
  const verifiesHost = mode === "verify-full";
  return {
    ...authority,
    rejectUnauthorized: verifies,
    ...(verifies && !verifiesHost && { checkServerIdentity: () => undefined }),
  };
}

function readCertificate(file: string, shown: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new DatabaseError(`${shown}: sslrootcert cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Why a database cannot be used as the store. The message is one line for the operator, without any password. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}
