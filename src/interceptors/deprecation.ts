import type { DescMethod } from "@bufbuild/protobuf";
import type { Deprecation } from "../../gen/petstore/options/v1/options_pb.ts";
import { endpointSunset } from "../domain/errors.ts";
import type { KeyLimiter } from "../domain/limits.ts";
import type { CallHandler, CallInterceptor } from "../rpc/call.ts";
import { rpcName } from "../rpc/endpoint.ts";
import { callerKey } from "./auth.ts";
import { operationOf, referenceAnchor } from "./operation.ts";

/**
 * Adds headers to every answer of a deprecated method: since when it is deprecated, when it ends, and where to read
 * about it. Notes the calls of every key, also of those over their limits.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc9745 (Deprecation), https://www.rfc-editor.org/rfc/rfc8594 (Sunset)
 */
export function deprecationInterceptor(keys: Pick<KeyLimiter, "noteDeprecatedCall">): CallInterceptor {
  return {
    wrap(next, method) {
      const deprecation = operationOf(method)?.deprecation;
      return deprecation === undefined ? next : announce(deprecationHeaders(method, deprecation), next);
    },
  };

  function announce(headers: Readonly<Record<string, string>>, next: CallHandler): CallHandler {
    return async (call) => {
      for (const [name, value] of Object.entries(headers)) {
        call.answerHeader.append(name, value);
      }
      try {
        return await next(call);
      } finally {
        // An inner interceptor sets the caller, so it is known only now.
        const key = call.contextValues.get(callerKey)?.key;
        if (key !== undefined) {
          keys.noteDeprecatedCall(key, rpcName(call.method));
        }
      }
    };
  }
}

/** Refuses valid calls of a deprecated method from its sunset on. */
export function sunsetInterceptor(clock: () => number): CallInterceptor {
  return {
    wrap(next, method) {
      const sunset = operationOf(method)?.deprecation?.sunset;
      return sunset === undefined ? next : endAt(sunset, next);
    },
  };

  function endAt(sunset: string, next: CallHandler): CallHandler {
    return (call) => (clock() < dayMs(sunset) ? next(call) : Promise.reject(endpointSunset(sunset)));
  }
}

/** The headers that announce a deprecation. */
export function deprecationHeaders(method: DescMethod, { since, sunset }: Deprecation) {
  return {
    Deprecation: `@${dayMs(since) / 1_000}`,
    Sunset: new Date(dayMs(sunset)).toUTCString(),
    Link: `</docs#${referenceAnchor(method)}>; rel="deprecation"; type="text/html"`,
  };
}

/** The beginning of a day given as `YYYY-MM-DD`, in milliseconds since the Unix epoch. */
function dayMs(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}
