/** Where Valkey or Redis is, and how to log in. */
export interface ValkeyTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly isTls: boolean;
  readonly isCluster: boolean;
}

/** Source: https://www.iana.org/assignments/uri-schemes/prov/redis */
const defaultPort = 6379;

/** Reads a URL such as `rediss://user:password@host:6379/0?cluster`, which `petstore` has found to be well-formed. */
export function parseTarget(text: string): ValkeyTarget {
  const { protocol, hostname, port, username, password, pathname, search } = new URL(text);
  return {
    // URLs write an IPv6 address in brackets.
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port || defaultPort),
    username: decodeURIComponent(username) || undefined,
    password: decodeURIComponent(password) || undefined,
    db: Number(pathname.slice(1)),
    isTls: protocol === "rediss:",
    isCluster: search === "?cluster",
  };
}

/** The options by which ioredis reaches a target. An unknown certificate is refused, as Node does by default. */
export function clientOptions({ host, port, username, password, db, isTls }: ValkeyTarget) {
  return {
    host,
    port,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
  };
}
