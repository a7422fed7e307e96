import type { DescMethod } from "@bufbuild/protobuf";
import { rpcName } from "../rpc/rpc-name.ts";

/** Where a rule stands: the RPC that carries it, and its path template as written. */
export interface RuleOrigin {
  readonly method: DescMethod;
  readonly template: string;
}

/** A `google.api.http` rule that cannot be served. It is thrown at start-up, and names the RPC and the template. */
export class RouteError extends Error {
  override readonly name = "RouteError";

  constructor(origin: RuleOrigin, reason: string) {
    super(`${rpcName(origin.method)}: the rule for "${origin.template}" cannot be served: ${reason}.`);
  }
}
