import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import type { Interceptor } from "@connectrpc/connect";
import { invalidRequest } from "../domain/errors.ts";

/** A list that is longer than this is not searched for all that is wrong in it: each fault is costly to tell. */
const longList = 1_000;

/**
 * Holds each message to the rules that its proto states. Throws `INVALID_REQUEST`, with every field that is wrong; with
 * the first one alone, where a list is so long that millions could be. `inputs` are the messages to expect.
 */
export function validationInterceptor(inputs: readonly DescMessage[]): Interceptor {
  const thorough = createValidator();
  const quick = createValidator({ failFast: true });
  // The rules of a type are compiled when it is first validated, which takes too long for a call to wait for.
  for (const input of inputs) {
    thorough.validate(input, create(input));
    quick.validate(input, create(input));
  }
  const lists = new Map(inputs.map((input) => [input, listNames(input)]));
  return (next) => (request) => {
    if (!request.stream) {
      const { input } = request.method;
      const validator = hasLongList(lists.get(input), request.message) ? quick : thorough;
      const result = validator.validate(input, request.message);
      if (result.kind === "invalid") {
        const { violations } = result;
        throw invalidRequest(violations.map(toSentence).join("; "), violations.map(toFieldViolation));
      }
      if (result.kind === "error") {
        throw result.error;
      }
    }
    return next(request);
  };
}

function listNames(desc: DescMessage): readonly string[] {
  return desc.fields.filter(({ fieldKind }) => fieldKind === "list").map(({ localName }) => localName);
}

function hasLongList(names: readonly string[] | undefined, message: Message): boolean {
  const values = message as unknown as Record<string, { readonly length: number }>;
  return names?.some((name) => (values[name]?.length ?? 0) > longList) ?? false;
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
