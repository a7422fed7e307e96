import type { ConnectError } from "@connectrpc/connect";

/** Gives an error the headers of the answer in whose place it stands: of a failure only the metadata go out. */
export function withMetadata(error: ConnectError, header: Headers | undefined): ConnectError {
  header?.forEach((value, name) => {
    error.metadata.append(name, value);
  });
  return error;
}
