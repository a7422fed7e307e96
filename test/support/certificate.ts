import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A self-signed certificate for 127.0.0.1 and localhost. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  /** In PEM: what a client has to trust. */
  readonly pem: string;
}

/** Makes a certificate in a directory, by `openssl`. */
export function createCertificate(directory: string): Certificate {
  const certFile = join(directory, "cert.pem");
  const keyFile = join(directory, "key.pem");
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  execFileSync("openssl", ["req", "-x509", ...key, "-out", certFile, "-days", "2", ...subject], { stdio: "ignore" });
  return { certFile, keyFile, pem: readFileSync(certFile, "utf8") };
}
