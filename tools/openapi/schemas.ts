import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { hasPresence, valueShape } from "../../src/proto-json/fields.ts";
import type { JsonPolicy } from "../../src/proto-json/json-policy.ts";
import { integerTypeOf } from "../../src/proto-json/scalar.ts";
import { description, paragraphs } from "./comments.ts";
import { exampleOf } from "./examples.ts";
import { constraintsOf, describeField, isRequired, messageConstraintsOf, unsignedDurationPattern } from "./rules.ts";
import type { Schema } from "./types.ts";

/**
 * The schemas of messages and enums, in the gateway's JSON under a policy. Each is a component, made at the first
 * reference to it.
 */
export class Schemas {
  readonly #policy: JsonPolicy;
  readonly #inBodies: ReadonlySet<DescMessage>;
  readonly #components = new Map<string, { readonly desc: DescMessage | DescEnum; schema: Schema }>();

  /** `inBodies` are the messages in requests, in which callers may omit what is not required. */
  constructor(policy: JsonPolicy, inBodies: ReadonlySet<DescMessage>) {
    this.#policy = policy;
    this.#inBodies = inBodies;
  }

  /** All schemas that have been referred to, by name. */
  get components(): Readonly<Record<string, Schema>> {
    const sorted = [...this.#components].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, { schema }]) => [name, schema]));
  }

  /** A reference to a message's schema. Throws an `Error` for what cannot be described. */
  message(desc: DescMessage): Schema {
    return this.#refer(desc, desc.name, () => this.#object(desc, desc.fields));
  }

  /** As `message`, for a body without the fields of these names, which are elsewhere in the request. */
  body(desc: DescMessage, elsewhere: ReadonlySet<string>): Schema {
    const fields = desc.fields.filter(({ name }) => !elsewhere.has(name));
    return fields.length === desc.fields.length
      ? this.message(desc)
      : this.#refer(desc, `${desc.name}Body`, () => this.#object(desc, fields));
  }

  /** Whether a field may be absent from the JSON of its message. */
  readonly mayBeAbsent = (field: DescField): boolean => !this.#isAlwaysThere(field);

  /** The schema of a field's value: of the whole list or map, where it is one. */
  field(field: DescField): Schema {
    const { value, items } = constraintsOf(field);
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: { ...this.#value(field), ...items }, ...value };
      case "map":
        return { type: "object", additionalProperties: this.#value(field), ...value };
      default:
        return { ...this.#value(field), ...value };
    }
  }

  #value(field: DescField): Schema {
    const shape = valueShape(field);
    switch (shape.kind) {
      case "scalar":
        return this.#scalar(shape.scalar);
      case "enum":
        return this.#refer(shape.enum, shape.enum.name, () => this.#enum(shape.enum));
      case "message":
        return this.#wellKnown(shape.message) ?? this.message(shape.message);
    }
  }

  #object(desc: DescMessage, fields: readonly DescField[]): Schema {
    const required = fields.filter((field) => this.#isAlwaysThere(field)).map(({ jsonName }) => jsonName);
    const properties = fields.map((field) => [field.jsonName, this.#property(field)]);
    return {
      type: "object",
      description: description(desc),
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(properties),
      ...messageConstraintsOf(desc),
      examples: [exampleOf(fields, this.mayBeAbsent)],
    };
  }

  /** Required by the rules; or always written by the policy, in messages of answers only. */
  #isAlwaysThere(field: DescField): boolean {
    const isWritten = !hasPresence(field) && this.#policy.implicitFields === "always";
    return isRequired(field) || (isWritten && !this.#inBodies.has(field.parent));
  }

  #property(field: DescField): Schema {
    return { description: describeField(field), ...this.field(field) };
  }

  #enum(desc: DescEnum): Schema {
    const named = desc.values.flatMap((value) => {
      const name = this.#policy.enumName(value);
      return name === undefined ? [] : [{ name, text: paragraphs(value).join(" ") }];
    });
    const list = named.map(({ name, text }) => `- \`${name}\`: ${text}`).join("\n");
    return { type: "string", description: `${description(desc)}\n\n${list}`, enum: named.map(({ name }) => name) };
  }

  #scalar(scalar: ScalarType): Schema {
    const integer = integerTypeOf(scalar);
    if (integer === undefined) {
      return otherScalars[scalar] ?? { type: "string" };
    }
    const format = `${integer.min === 0n ? "uint" : "int"}${integer.bits}`;
    if (integer.bits === 64) {
      // Only the format gives its bounds: most JSON parsers would round them.
      return { type: this.#policy.int64 === "number" ? "integer" : "string", format };
    }
    return { type: "integer", format, minimum: Number(integer.min), maximum: Number(integer.max) };
  }

  #wellKnown({ typeName }: DescMessage): Schema | undefined {
    if (typeName === "google.protobuf.Timestamp") {
      return { type: "string", format: "date-time" };
    }
    if (typeName === "google.protobuf.Duration") {
      return { type: "string", pattern: durationPattern };
    }
    if (typeName.startsWith("google.protobuf.")) {
      throw new Error(`${typeName} has no schema here`);
    }
    return undefined;
  }

  #refer(desc: DescMessage | DescEnum, name: string, create: () => Schema): Schema {
    const present = this.#components.get(name);
    if (present === undefined) {
      // Set before its fields are described, for recursive messages.
      const component = { desc, schema: {} };
      this.#components.set(name, component);
      component.schema = create();
    } else if (present.desc !== desc) {
      throw new Error(`${desc.typeName} and ${present.desc.typeName} are both called ${name}`);
    }
    return { $ref: `#/components/schemas/${name}` };
  }
}

/** A duration, as ProtoJSON writes it. */
const durationPattern = unsignedDurationPattern.replace("^", "^-?");

/** The schemas of the scalars that are neither integers nor strings. */
const otherScalars: Partial<Record<ScalarType, Schema>> = {
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.BYTES]: { type: "string", contentEncoding: "base64" },
  [ScalarType.DOUBLE]: { type: "number", format: "double" },
  [ScalarType.FLOAT]: { type: "number", format: "float" },
};
