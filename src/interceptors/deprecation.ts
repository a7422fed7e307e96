import type { DescMethod } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { Deprecation } from "../../gen/petstore/options/v1/options_pb.ts";
import { endpointSunset } from "../domain/errors.ts";
import { answerHeaderOf } from "../rpc/running-call.ts";
import { operationOf } from "./operation.ts";

/**
 * Says on every answer of a deprecated method since when it is so, when it may end, and where to read about it.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc9745 (Deprecation), https://www.rfc-editor.org/rfc/rfc8594 (Sunset)
 */
export const deprecationInterceptor: Interceptor = (next) => (request) => {
  const deprecation = operationOf(request.method)?.deprecation;
  if (deprecation !== undefined) {
    appendDeprecation(answerHeaderOf(request), request.method, deprecation);
  }
  return next(request);
};

/** Ends the calls of a deprecated method from its sunset on, once they are known to be well-formed. */
export function sunsetInterceptor(clock: () => number): Interceptor {
  return (next) => (request) => {
    const sunset = operationOf(request.method)?.deprecation?.sunset;
    if (sunset !== undefined && clock() >= dayMs(sunset)) {
      throw endpointSunset(sunset);
    }
    return next(request);
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
    Link: `</docs#/${method.parent.name}/${method.localName}>; rel="deprecation"; type="text/html"`,
  };
}

/** The beginning of a day given as `YYYY-MM-DD`, in milliseconds since the Unix epoch. */
function dayMs(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}
