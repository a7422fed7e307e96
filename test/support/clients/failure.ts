import { Code, type ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import type { Failure } from "./client.ts";

/** The failure of an RPC, including its `google.rpc` details. */
export function failureFromConnectError(error: ConnectError): Failure {
  const [info] = error.findDetails(ErrorInfoSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    code: info?.reason,
    domain: info?.domain,
    message: error.rawMessage,
    canonical: canonicalName(error.code),
    fields: error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map(({ field }) => field)),
    retrySeconds: retry?.retryDelay && Number(retry.retryDelay.seconds),
  };
}

/** The canonical name of a code, as `google.rpc.Code` and Connect spell it: `not_found` for 5. */
function canonicalName(code: Code): string {
  const names = Object.entries(Code).filter(([, value]) => value === code);
  return (names[0]?.[0] ?? String(code)).replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}
