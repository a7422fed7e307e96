import { create, type DescMessage, hasOption, type Message } from "@bufbuild/protobuf";
import { createValidator, type Validator, type Violation } from "@bufbuild/protovalidate";
import { field, message, oneof } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/**
 * The longest list, in items, of a message whose violations are all reported. With a longer list only the first one is,
 * because each violation is expensive to report.
 */
const longList = 1_000;

/** Finds the rules that a message violates: all of them, or only the first one if a list is long. */
export type FindViolations = (message: Message) => readonly Violation[];

/**
 * Compiles the rules of messages, which takes some 50 ms. It leaves out messages without rules, because the validation
 * of one costs a tenth of a small call. The first message with a long list takes another 50 ms, to compile the rules
 * again. Honest clients send no such message, so most servers need not keep the rules twice. Throws for an invalid
 * rule.
 */
export function compileRules(descs: readonly DescMessage[]): ReadonlyMap<DescMessage, FindViolations> {
  const thorough = createValidator({ regexMatch });
  let quick: Validator | undefined;
  function failFastValidator(): Validator {
    quick ??= createValidator({ failFast: true, regexMatch });
    return quick;
  }
  const compiled = new Map<DescMessage, FindViolations>();
  for (const desc of descs.filter((desc) => hasRules(desc))) {
    thorough.validate(desc, create(desc));
    const lists = listNames(desc);
    compiled.set(desc, (message) => {
      const validator = lists.some((name) => isLong(message, name)) ? failFastValidator() : thorough;
      const result = validator.validate(desc, message);
      if (result.kind === "error") {
        throw result.error;
      }
      return result.kind === "invalid" ? result.violations : [];
    });
  }
  return compiled;
}

/**
 * Whether a text matches a pattern of the protos. These patterns are ours, so `RegExp` is safe: they repeat single
 * classes of characters, and take a time linear in the text. The library's own engine, for patterns of strangers, takes
 * a second for 4 MB. Without the flag `u`, a character beyond the BMP is two, which no class of ours tells apart.
 */
function regexMatch(pattern: string, text: string): boolean {
  return new RegExp(pattern).test(text);
}

/** Whether a message has a rule, or one of the messages in it. */
function hasRules(desc: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(desc)) {
    return false;
  }
  seen.add(desc);
  return (
    hasOption(desc, message) ||
    desc.oneofs.some((group) => hasOption(group, oneof)) ||
    desc.fields.some((part) => hasOption(part, field) || (part.message && hasRules(part.message, seen)))
  );
}

function listNames(desc: DescMessage): readonly string[] {
  return desc.fields.filter(({ fieldKind }) => fieldKind === "list").map(({ localName }) => localName);
}

function isLong(message: Message, list: string): boolean {
  return ((message as unknown as Record<string, readonly unknown[]>)[list]?.length ?? 0) > longList;
}
