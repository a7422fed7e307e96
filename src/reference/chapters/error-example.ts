import { petNotFound } from "../../domain/errors.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";

/** The body of a failed answer, as the service writes it, indented. */
export function errorExample(): string {
  return JSON.stringify(errorToRest(toConnectError(petNotFound(7n))).body, undefined, 2);
}
