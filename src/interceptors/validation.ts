import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import type { Violation } from "@bufbuild/protovalidate";
import { DomainError, type FieldViolation, invalidRequest } from "../domain/errors.ts";
import type { Call, CallInterceptor } from "../rpc/call.ts";
import type { FindViolations } from "./message-rules.ts";
import { headerOf } from "./operation.ts";

/** Checks messages against the rules in their protos. */
interface Validation {
  /** Throws `INVALID_REQUEST` with the invalid fields. */
  readonly interceptor: CallInterceptor;
  /** Compiles the rules: see `compileRules`. Calls wait for it. */
  readonly prepare: () => Promise<unknown>;
}

/** Creates the validation. `inputs` are the request messages. */
export function createValidation(inputs: readonly DescMessage[]): Validation {
  const known = new Set(inputs);
  let rules: ReadonlyMap<DescMessage, FindViolations> | undefined;
  let loading: Promise<unknown> | undefined;
  async function load(): Promise<void> {
    const { compileRules } = await import("./message-rules.ts");
    rules = compileRules(inputs);
  }
  async function prepare(): Promise<unknown> {
    loading ??= load();
    return loading;
  }
  return {
    prepare,
    interceptor: {
      wrap: (next, { input }) => {
        if (!known.has(input)) {
          throw new Error(`the rules of ${input.typeName} are not compiled`);
        }
        const headers = headerNames(input);
        return async (call) => {
          if (rules === undefined) {
            await prepare();
          }
          const violations = rules?.get(input)?.(call.message as Message) ?? [];
          if (violations.length > 0) {
            throw toInvalidRequest(violations, call);
          }
          try {
            return await next(call);
          } catch (reason) {
            throw call.protocolName === "rest" ? nameHeaders(reason, headers) : reason;
          }
        };
      },
    },
  };
}

/** The most violations that an error lists: a long list may have one in each item. */
const maxListed = 20;

/** Makes the error. Its message and its details name a field in the same way. */
function toInvalidRequest(violations: readonly Violation[], { protocolName }: Call): DomainError {
  const nameOf = namingOf(protocolName);
  const faults = violations
    .slice(0, maxListed)
    .map((violation) => ({ field: nameOf(violation), description: describe(violation) }));
  return invalidFields(faults);
}

function invalidFields(faults: readonly FieldViolation[]): DomainError {
  const sentence = faults.map(({ field, description }) => (field === "" ? description : `${field}: ${description}`));
  return invalidRequest(`${sentence.join("; ")}.`, faults);
}

/**
 * Replaces the proto names of fields by the names of headers in an error of the domain. Returns any other error
 * unchanged.
 */
function nameHeaders(reason: unknown, headers: ReadonlyMap<string, string>): unknown {
  if (!(reason instanceof DomainError) || !reason.fieldViolations.some(({ field }) => headers.has(field))) {
    return reason;
  }
  return invalidFields(
    reason.fieldViolations.map(({ field, description }) => ({ field: headers.get(field) ?? field, description })),
  );
}

/**
 * Describes a violation. The library's message lists the numbers of an enum, but clients know its names. It also writes
 * `item(s)`, which becomes singular or plural here.
 */
function describe(violation: Violation): string {
  const values = violation.ruleId.startsWith("enum.") ? fieldOf(violation)?.enum?.values : undefined;
  const offered = values?.filter(({ number }) => number !== 0).map(({ name }) => name);
  return offered === undefined ? inNumber(violation.message) : `must be one of ${offered.join(", ")}`;
}

function inNumber(message: string): string {
  return message.replace(/\b(\d+) item\(s\)/, (_text, count) => `${count} ${count === "1" ? "item" : "items"}`);
}

function fieldOf({ field }: Violation): DescField | undefined {
  return field.findLast((part) => part.kind === "field");
}

/** Names the field of a violation in the caller's terms. */
type Naming = (violation: Violation) => string;

/**
 * REST names a field by its header, or by its JSON name. For a field within a list of messages, the name is the path
 * from the list on, such as `changes[3].delta`. RPCs name a field by its path of proto names.
 * Source: google/rpc/error_details.proto, BadRequest.FieldViolation
 */
function namingOf(protocolName: string): Naming {
  return protocolName === "rest" ? ({ field }) => restName(field) : ({ field }) => pathToString(field);
}

function restName(path: Violation["field"]): string {
  const inList = path.findIndex((part) => part.kind === "field" && isMessageList(part));
  const start = inList < 0 ? path.findLastIndex(({ kind }) => kind === "field") : inList;
  let name = "";
  for (const [index, part] of path.entries()) {
    if (index >= start && part.kind === "field") {
      name += `${name && "."}${headerOf(part) ?? part.jsonName}`;
    } else if (index > inList && inList >= 0 && part.kind === "list_sub") {
      name += `[${part.index}]`;
    }
  }
  return name;
}

function isMessageList(field: DescField): boolean {
  return field.fieldKind === "list" && field.listKind === "message";
}

/** The headers that carry fields of a message, by the names of the fields. */
function headerNames({ fields }: DescMessage): ReadonlyMap<string, string> {
  const named = fields.map((field) => [field.name, headerOf(field)] as const);
  return new Map(named.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
