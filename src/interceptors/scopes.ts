import type { Interceptor } from "@connectrpc/connect";
import { scopeMissing } from "../domain/errors.ts";
import { callerKey } from "./auth.ts";
import { operationOf } from "./operation.ts";

/**
 * Lets a call in only when its key has the scope that the method's proto names. Some methods name none, and the
 * stand-in of requests that no method takes has none to ask for.
 */
export const scopesInterceptor: Interceptor = (next) => (request) => {
  const scope = operationOf(request.method)?.scope ?? "";
  const granted: readonly string[] = request.contextValues.get(callerKey)?.key?.scopes ?? [];
  if (scope !== "" && !granted.includes(scope)) {
    throw scopeMissing(scope);
  }
  return next(request);
};
