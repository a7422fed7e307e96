import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { type Limits, parseLimits } from "./limits.ts";
import type { Timing } from "./timing.ts";

/** Reports the limits of each answer, those of failed attempts included. */
export function createLimitsInterceptor(report: (limits: Limits) => void, timing: Timing): Interceptor {
  function read(headers: Headers): void {
    const limits = parseLimits(headers, timing.now());
    if (limits !== undefined) {
      report(limits);
    }
  }
  return (next) => async (request) => {
    try {
      const response = await next(request);
      read(response.header);
      return response;
    } catch (error) {
      if (error instanceof ConnectError) {
        read(error.metadata);
      }
      throw error;
    }
  };
}
