import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import type { Violation } from "@bufbuild/protovalidate";
import { type DomainError, invalidRequest } from "../domain/errors.ts";
import type { Call, CallHandler, CallInterceptor } from "../rpc/call.ts";
import type { FindViolations } from "./message-rules.ts";

/** Checks messages against the rules in their protos. */
export interface Validation {
  /** Throws `INVALID_REQUEST` with the invalid fields. */
  readonly interceptor: CallInterceptor;
  /** Compiles the rules, which takes some 100 ms. Calls wait for it. */
  readonly prepare: () => Promise<unknown>;
}

/** Creates the validation. `inputs` are the request messages. */
export function createValidation(inputs: readonly DescMessage[]): Validation {
  let findViolations: FindViolations | undefined;
  let loading: Promise<FindViolations> | undefined;
  async function load(): Promise<FindViolations> {
    const { compileRules } = await import("./message-rules.ts");
    findViolations = compileRules(inputs);
    return findViolations;
  }
  async function prepare(): Promise<FindViolations> {
    loading ??= load();
    return loading;
  }
  return {
    prepare,
    interceptor: {
      wrap: (next) => (call) =>
        findViolations === undefined
          ? prepare().then((find) => validate(find, call, next))
          : validate(findViolations, call, next),
    },
  };
}

async function validate(find: FindViolations, call: Call, next: CallHandler): ReturnType<CallHandler> {
  const violations = find(call.method.input, call.message as Message);
  if (violations.length > 0) {
    throw toInvalidRequest(violations, call);
  }
  return await next(call);
}

/** The message names a field as the details do. */
function toInvalidRequest(violations: readonly Violation[], { protocolName }: Call): DomainError {
  const nameOf = namingOf(protocolName);
  const faults = violations.map((violation) => ({ field: nameOf(violation), description: describe(violation) }));
  const sentence = faults.map(({ field, description }) => (field === "" ? description : `${field}: ${description}`));
  return invalidRequest(`${sentence.join("; ")}.`, faults);
}

/** Names the field of a violation in the caller's terms. */
type Naming = (violation: Violation) => string;

/**
 * REST names a field by its JSON name alone. RPCs name it by its path of proto names.
 * Source: google/rpc/error_details.proto, BadRequest.FieldViolation
 */
function namingOf(protocolName: string): Naming {
  return protocolName === "rest"
    ? (violation) => fieldOf(violation)?.jsonName ?? ""
    : ({ field }) => pathToString(field);
}

/** The rules list the numbers of an enum; clients know its names. */
function describe(violation: Violation): string {
  const values = violation.ruleId.startsWith("enum.") ? fieldOf(violation)?.enum?.values : undefined;
  const offered = values?.filter(({ number }) => number !== 0).map(({ name }) => name);
  return offered === undefined ? violation.message : `must be one of ${offered.join(", ")}`;
}

function fieldOf({ field }: Violation): DescField | undefined {
  return field.findLast((part) => part.kind === "field");
}
