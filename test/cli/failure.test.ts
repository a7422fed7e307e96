import { createSecureContext } from "node:tls";
import { expect, it } from "vitest";
import { describeError, listenFailure, systemFailure } from "../../src/cli/failure.ts";
import { toStoreFileError } from "../../src/storage/sqlite/store-file.ts";

/** What Node throws when the system denies a call. */
function denial(fields: object): Error {
  return Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", errno: -13, ...fields });
}

it.each<[port: number, ending: string]>([
  [443, "; ports below 1024 need root or CAP_NET_BIND_SERVICE, so name a higher one with --port"],
  [8_443, ""],
])("says why the system denies port %i", (port, ending) => {
  expect(listenFailure(denial({ syscall: "listen", address: "0.0.0.0", port }))?.message).toBe(
    `cannot listen on 0.0.0.0 port ${port}: permission denied${ending}`,
  );
});

it("says what a store needs to which the system denies access", () => {
  expect(describeError(toStoreFileError(denial({ syscall: "open", path: "a.db" }), "a.db"))).toBe(
    "a.db: permission denied; the user that runs petstore must be able to read and write the file and its folder",
  );
});

it("gives OpenSSL's reason without its codes", () => {
  let thrown: unknown;
  try {
    createSecureContext({ cert: "text" });
  } catch (error) {
    thrown = error;
  }
  expect(systemFailure("use a.pem for TLS", thrown).message).toBe("cannot use a.pem for TLS: no start line");
});
