import type { DescMethod } from "@bufbuild/protobuf";
import type { Deprecation } from "../../gen/petstore/options/v1/options_pb.ts";
import { endpointSunset } from "../domain/errors.ts";
import type { Key } from "../domain/key.ts";
import type { CallInterceptor } from "../rpc/call.ts";
import { rpcName } from "../rpc/rpc-name.ts";
import { callerKey } from "./auth.ts";
import { operationOf, referenceAnchor } from "./operation.ts";

/** Hears that a key has called a deprecated method, which is told by its full name. */
export type DeprecatedCallNote = (key: Key, method: string) => void;

/**
 * Says on every answer of a deprecated method since when it is so, when it may end, and where to read about it. `note`
 * hears who still calls it, those over their limits included.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc9745 (Deprecation), https://www.rfc-editor.org/rfc/rfc8594 (Sunset)
 */
export function deprecationInterceptor(note: DeprecatedCallNote): CallInterceptor {
  return {
    async intercept(call, next) {
      const { method, contextValues } = call;
      const deprecation = operationOf(method)?.deprecation;
      if (deprecation === undefined) {
        return await next(call);
      }
      appendDeprecation(call.answerHeader, method, deprecation);
      try {
        return await next(call);
      } finally {
        // The caller is known only further in.
        const key = contextValues.get(callerKey)?.key;
        if (key !== undefined) {
          note(key, rpcName(method));
        }
      }
    },
  };
}

/** Ends the calls of a deprecated method from its sunset on, once they are known to be well-formed. */
export function sunsetInterceptor(clock: () => number): CallInterceptor {
  return {
    async intercept(call, next) {
      const sunset = operationOf(call.method)?.deprecation?.sunset;
      if (sunset !== undefined && clock() >= dayMs(sunset)) {
        throw endpointSunset(sunset);
      }
      return await next(call);
    },
  };
}

function appendDeprecation(header: Headers, method: DescMethod, deprecation: Deprecation): void {
  for (const [name, value] of Object.entries(deprecationHeaders(method, deprecation))) {
    header.append(name, value);
  }
}

/** What the answers of a deprecated method say of it, by the names of the headers. */
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
