import { type DescEnum, type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { doc } from "./doc.ts";

/** Written by hand in the client, because protobuf's comments on them are not for TypeScript. */
const handwritten: readonly string[] = ["google.protobuf.Timestamp", "google.protobuf.Duration"];

/** Messages whose own names mean something else in TypeScript. */
const renamed: Readonly<Record<string, string>> = { "petstore.v1.Error": "ChangeError" };

/** The types of the messages that the methods take and give, and the enums in them. */
export function messageTypes(methods: readonly DescMethod[]): { types: readonly string[]; enums: readonly DescEnum[] } {
  const requests = reachable(methods.map(({ input }) => input));
  const responses = reachable(methods.map(({ output }) => output));
  const [shared] = requests.intersection(responses);
  if (shared !== undefined) {
    throw new Error(`${shared.typeName}: a type is either for requests or for responses, and this is for both`);
  }
  const types = [...[...requests].map(requestType), ...[...responses].map(responseType)];
  const fields = [...requests, ...responses].flatMap((message) => message.fields);
  return { types, enums: [...new Set(fields.flatMap((field) => field.enum ?? []))] };
}

/** The messages themselves, and those in their fields. */
function reachable(messages: readonly DescMessage[], found: Set<DescMessage> = new Set()): Set<DescMessage> {
  for (const message of messages) {
    if (!found.has(message) && !handwritten.includes(message.typeName)) {
      found.add(message);
      reachable(
        message.fields.flatMap((field) => field.message ?? []),
        found,
      );
    }
  }
  return found;
}

/** What callers write: each field is optional, and lists may be read-only. */
function requestType(message: DescMessage): string {
  return messageType(message, { isOptional: () => true, listModifier: "readonly " });
}

/** What callers read: every field is present, except messages and fields marked optional. */
function responseType(message: DescMessage): string {
  const isOptional = ({ presence }: DescField) => presence === FeatureSet_FieldPresence.EXPLICIT;
  return messageType(message, { isOptional, listModifier: "" });
}

/** How the fields of a message are typed. */
interface FieldStyle {
  readonly isOptional: (field: DescField) => boolean;
  readonly listModifier: "" | "readonly ";
}

function messageType(message: DescMessage, { isOptional, listModifier }: FieldStyle): string {
  const fields = message.fields.map((field) => {
    const type = `${field.fieldKind === "list" ? listModifier : ""}${fieldType(field)}`;
    const member = isOptional(field) ? `${field.localName}?: ${type} | undefined;` : `${field.localName}: ${type};`;
    return `${doc(field, { indent: "  " })}\n  ${member}`;
  });
  const body = fields.length === 0 ? "{}" : `{\n${fields.join("\n\n")}\n}`;
  return `${doc(message)}\nexport interface ${nameOf(message)} ${body}`;
}

function fieldType(field: DescField): string {
  switch (field.fieldKind) {
    case "scalar":
      return scalarType(field, field.scalar);
    case "enum":
      return field.enum.name;
    case "message":
      return nameOf(field.message);
    case "list":
      return `${field.listKind === "scalar" ? scalarType(field, field.scalar) : (field.enum?.name ?? nameOf(field.message as DescMessage))}[]`;
    case "map":
      throw new Error(`${field.toString()}: maps have no type in the client yet`);
  }
}

function nameOf({ name, typeName }: DescMessage): string {
  return renamed[typeName] ?? name;
}

function scalarType(field: DescField, scalar: ScalarType): string {
  switch (scalar) {
    case ScalarType.STRING:
      return "string";
    case ScalarType.BOOL:
      return "boolean";
    case ScalarType.INT32:
      return "number";
    case ScalarType.INT64:
      return "bigint";
    default:
      throw new Error(`${field.toString()}: ${ScalarType[scalar]} has no type in the client yet`);
  }
}
