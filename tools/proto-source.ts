import type { DescEnum, DescExtension, DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import {
  Edition,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

/**
 * Prints the declarations of a proto2 or proto3 file as proto source: what another file needs to import it. It omits
 * comments, options, services, and map fields, which no imported file declares.
 *
 * Source: https://protobuf.com/docs/language-spec
 */
export function protoSource(file: DescFile): string {
  return [
    `syntax = "${file.edition === Edition.EDITION_PROTO2 ? "proto2" : "proto3"}";`,
    `package ${file.proto.package};`,
    ...file.dependencies.map((dependency) => `import "${dependency.name}.proto";`),
    ...file.enums.map(enumSource),
    ...file.messages.map(messageSource),
    ...file.extensions.map(extensionSource),
    "",
  ].join("\n");
}

function messageSource(message: DescMessage): string {
  const members = message.members.map((member) =>
    member.kind === "oneof"
      ? block(
          `oneof ${member.name}`,
          member.fields.map((field) => fieldSource(field)),
        )
      : labelledFieldSource(member),
  );
  const extensionRanges = message.proto.extensionRange.map(
    ({ start, end }) => `extensions ${start} to ${end > 536_870_911 ? "max" : end - 1};`,
  );
  const reservedRanges = message.proto.reservedRange.map(({ start, end }) => `reserved ${start} to ${end - 1};`);
  const reservedNames = message.proto.reservedName.map((name) => `reserved "${name}";`);
  return block(`message ${message.name}`, [
    ...message.nestedEnums.map(enumSource),
    ...message.nestedMessages.map(messageSource),
    ...members,
    ...extensionRanges,
    ...reservedRanges,
    ...reservedNames,
  ]);
}

function enumSource(desc: DescEnum): string {
  return block(
    `enum ${desc.name}`,
    desc.values.map((value) => `${value.name} = ${value.number};`),
  );
}

function extensionSource(extension: DescExtension): string {
  return block(`extend .${extension.extendee.typeName}`, [labelledFieldSource(extension)]);
}

function labelledFieldSource(field: DescField | DescExtension): string {
  const isProto2 = (field.kind === "extension" ? field.file : field.parent.file).edition === Edition.EDITION_PROTO2;
  if (field.proto.label === Label.REPEATED) {
    return `repeated ${fieldSource(field)}`;
  }
  return isProto2 || field.proto.proto3Optional ? `optional ${fieldSource(field)}` : fieldSource(field);
}

function fieldSource(field: DescField | DescExtension): string {
  return `${fieldType(field)} ${field.name} = ${field.number};`;
}

function fieldType(field: DescField | DescExtension): string {
  return field.proto.typeName === "" ? Type[field.proto.type].toLowerCase() : field.proto.typeName;
}

function block(head: string, lines: string[]): string {
  return `${head} {\n${lines.join("\n")}\n}`;
}
