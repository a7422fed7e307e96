import { Occurrence } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { Charge } from "../../gen/petstore/options/v1/options_pb.ts";
import { rpcName } from "../../src/rpc/endpoint.ts";
import { deprecationOf } from "./headers.ts";
import type { BoundMethod, Shared } from "./operation.ts";
import type { Reason } from "./reasons.ts";
import { failure } from "./responses.ts";
import type { Operation } from "./types.ts";

/** These refuse a request before its method is known, so their answers have no deprecation headers. */
const beforeCalls = new Set([405, 408, 431]);

/**
 * The failed answers of an operation, by status. Throws an `Error` if its options name an unknown reason, or one that
 * options may not name.
 */
export function failures(bound: BoundMethod, shared: Shared): Operation["responses"] {
  assertNamed(bound, shared.reasons);
  const possible = shared.reasons.filter((reason) => canFailFor(reason, bound));
  const byStatus = Map.groupBy(possible, ({ status }) => status);
  const responses = [...byStatus].map(([status, reasons]) => {
    const headers = beforeCalls.has(status) ? {} : deprecationOf(bound.method, bound.option);
    return [status, shared.responses.share(status, failure(reasons, shared.error, headers))];
  });
  return Object.fromEntries(responses);
}

function assertNamed({ method, option }: BoundMethod, reasons: readonly Reason[]): void {
  const named = reasons.filter(({ occurrence }) => occurrence === Occurrence.NAMED).map(({ code }) => code);
  const unknown = option.reasons.find((code) => !named.includes(code));
  if (unknown !== undefined) {
    throw new Error(`${rpcName(method)} names the reason ${unknown}, which is none that methods name`);
  }
}

function canFailFor({ code, occurrence }: Reason, { option, rule }: BoundMethod): boolean {
  switch (occurrence) {
    case Occurrence.ALWAYS:
      return true;
    case Occurrence.BODY:
      return rule.body !== "";
    case Occurrence.SUNSET:
      return option.deprecation !== undefined;
    case Occurrence.SCOPED:
      return option.scope !== "";
    case Occurrence.COUNTED:
      return option.charge !== Charge.FREE;
    case Occurrence.NAMED:
      return option.reasons.includes(code);
    case Occurrence.UNROUTED:
    case Occurrence.RPC:
      return false;
    default:
      throw new Error(`the protos do not say when ${code} occurs`);
  }
}
