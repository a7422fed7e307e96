import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Connects to an origin, by TLS for `https:`. It trusts any certificate: the bench has made the server's itself. */
export function openSocket(origin: string, protocols: string[]): Socket {
  const { protocol, hostname, port } = new URL(origin);
  const target = { host: hostname, port: Number(port), noDelay: true };
  return protocol === "https:"
    ? connectTls({ ...target, ALPNProtocols: protocols, rejectUnauthorized: false })
    : connect(target);
}
