import { JsonFault } from "../exact-json/parse.ts";
import { malformedField, ProtocolError } from "../http/protocol-error.ts";
import { ContentFault } from "../proto-json/content-fault.ts";

/**
 * Converts a fault in the content of a request to the error that clients see. Returns any other error unchanged.
 * `whole` names the subject of a fault without a path.
 */
export function toContentError(error: unknown, whole: string): unknown {
  if (error instanceof ContentFault && error.path !== "") {
    return malformedField(error.path, error.reason);
  }
  return error instanceof ContentFault || error instanceof JsonFault
    ? new ProtocolError("malformed", `${whole} ${error.reason}.`)
    : error;
}
