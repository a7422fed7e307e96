import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ContextKey } from "@connectrpc/connect";
import type { LimitService } from "../../gen/petstore/v1/limit_service_pb.ts";
import type { KeyLimits, WindowState } from "../domain/limits.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { planMessages } from "./messages.ts";

/** The RPCs of the limits. `limitsKey` is the context value with the limits of the caller's key. */
export function limitService(limitsKey: ContextKey<KeyLimits | undefined>): ServiceMethods<typeof LimitService> {
  return {
    async getLimits(_request, { values }) {
      const limits = values.get(limitsKey);
      if (limits === undefined) {
        throw new Error("the call came without the limits of its key");
      }
      return { limits: limitsToMessage(limits) };
    },
  };
}

function limitsToMessage({ plan, minute, day, strikes, ban }: KeyLimits) {
  return {
    plan: planMessages[plan],
    minute: windowToMessage(minute),
    day: windowToMessage(day),
    strikes: windowToMessage(strikes),
    ...(ban && { ban: { endTime: timestampFromMs(ban.endsAtMs), step: ban.step } }),
  };
}

function windowToMessage({ limit, remaining, resetAtMs, lengthSeconds }: WindowState) {
  return {
    limit: BigInt(limit),
    remaining: BigInt(remaining),
    resetTime: timestampFromMs(resetAtMs),
    lengthSeconds,
  };
}
