import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import type { Violation } from "@bufbuild/protovalidate";
import type { Interceptor } from "@connectrpc/connect";
import { invalidRequest } from "../domain/errors.ts";
import type { FindViolations } from "./message-rules.ts";

/** The check of messages against the rules that their protos state. */
export interface Validation {
  /** Throws `INVALID_REQUEST`, with the fields that are wrong. */
  readonly interceptor: Interceptor;
  /** Loads the rules, which takes some 100 ms. Until then the calls wait for it. */
  readonly prepare: () => Promise<unknown>;
}

/** Creates the validation of messages. `inputs` are the messages to expect. */
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
    interceptor: (next) => (request) => {
      if (request.stream) {
        return next(request);
      }
      const { message, method } = request;
      if (findViolations === undefined) {
        return (async () => {
          assertValid((await prepare())(method.input, message as Message));
          return next(request);
        })();
      }
      assertValid(findViolations(method.input, message));
      return next(request);
    },
  };
}

function assertValid(violations: readonly Violation[]): void {
  if (violations.length > 0) {
    throw invalidRequest(violations.map(toSentence).join("; "), violations.map(toFieldViolation));
  }
}

/** Names the field as its JSON does, and without the messages around it, which not every protocol shows. */
function toSentence(violation: Violation): string {
  const name = fieldOf(violation)?.jsonName;
  return name === undefined ? describe(violation) : `${name}: ${describe(violation)}`;
}

function toFieldViolation(violation: Violation) {
  return { field: pathToString(violation.field), description: describe(violation) };
}

/** Rules tell the values of an enum by their numbers, and name none of those that there are. */
function describe(violation: Violation): string {
  const values = violation.ruleId.startsWith("enum.") ? fieldOf(violation)?.enum?.values : undefined;
  const offered = values?.filter(({ number }) => number !== 0).map(({ name }) => name);
  return offered === undefined ? violation.message : `must be one of ${offered.join(", ")}`;
}

function fieldOf({ field }: Violation): DescField | undefined {
  return field.findLast((part) => part.kind === "field");
}
