import { scopeMissing } from "../domain/errors.ts";
import type { CallHandler, CallInterceptor } from "../rpc/call.ts";
import { callerKey } from "./auth.ts";
import { operationOf } from "./operation.ts";

/**
 * Lets a call in only when its key has the scope that the method's proto names. Some methods name none, and neither
 * does the method of requests that no RPC takes.
 */
export const scopesInterceptor: CallInterceptor = {
  wrap(next, method) {
    const scope = operationOf(method)?.scope ?? "";
    return scope === "" ? next : requireScope(scope, next);
  },
};

function requireScope(scope: string, next: CallHandler): CallHandler {
  return async (call) => {
    const granted: readonly string[] = call.contextValues.get(callerKey)?.key?.scopes ?? [];
    if (!granted.includes(scope)) {
      throw scopeMissing(scope);
    }
    return await next(call);
  };
}
