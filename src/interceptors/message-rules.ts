import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { createValidator, type Validator, type Violation } from "@bufbuild/protovalidate";

/** In a longer list only the first violation is looked for: each one is expensive to report. */
const longList = 1_000;

/** Finds the rules that a message violates: all of them, or the first one where a list is long. */
export type FindViolations = (desc: DescMessage, message: Message) => readonly Violation[];

/**
 * Compiles the rules of messages, which takes some 50 ms. Throws for an invalid rule. The first message with a long list
 * takes as long again: honest clients send none, so not every server need keep the rules twice.
 */
export function compileRules(descs: readonly DescMessage[]): FindViolations {
  const thorough = createValidator();
  for (const desc of descs) {
    thorough.validate(desc, create(desc));
  }
  let quick: Validator | undefined;
  function quickOne(): Validator {
    quick ??= createValidator({ failFast: true });
    return quick;
  }
  const lists = new Map(descs.map((desc) => [desc, listNames(desc)]));
  return (desc, message) => {
    const validator = hasLongList(lists.get(desc), message) ? quickOne() : thorough;
    const result = validator.validate(desc, message);
    if (result.kind === "error") {
      throw result.error;
    }
    return result.kind === "invalid" ? result.violations : [];
  };
}

function listNames(desc: DescMessage): readonly string[] {
  return desc.fields.filter(({ fieldKind }) => fieldKind === "list").map(({ localName }) => localName);
}

function hasLongList(names: readonly string[] | undefined, message: Message): boolean {
  const values = message as unknown as Record<string, { readonly length: number }>;
  return names?.some((name) => (values[name]?.length ?? 0) > longList) ?? false;
}
