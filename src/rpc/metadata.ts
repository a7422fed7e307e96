import { ConnectError } from "@connectrpc/connect";

/**
 * Gives an error the headers of the answer in whose place it stands: of a failure only the metadata go out. What is no
 * `ConnectError` is returned as it is.
 */
export function withMetadata<E>(error: E, header: Headers | undefined): E {
  if (error instanceof ConnectError && header !== undefined) {
    appendTo(error.metadata, header);
  }
  return error;
}

/** Appends headers to others. */
export function appendTo(target: Headers, header: Headers): void {
  header.forEach((value, name) => {
    target.append(name, value);
  });
}
