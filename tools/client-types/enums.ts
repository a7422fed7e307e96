import type { DescEnum, DescFile } from "@bufbuild/protobuf";
import { readReasons } from "../openapi/reasons.ts";
import { doc } from "./doc.ts";

/** An enum as an object of its numbers, and the type of them. */
export function enumType(desc: DescEnum): string {
  const values = desc.values.map((value) => `${doc(value, { indent: "  " })}\n  ${value.localName}: ${value.number},`);
  return `${doc(desc)}
export const ${desc.name} = {
${values.join("\n\n")}
} as const;

${doc(desc)}
export type ${desc.name} = (typeof ${desc.name})[keyof typeof ${desc.name}] | UnknownEnum;`;
}

/** The reasons of errors, as an object of their names: errors name them so on the wire. */
export function reasons(files: readonly DescFile[]): string {
  const known = new Set(readReasons(files).map(({ code }) => code));
  const values = files.flatMap(({ enums }) => enums.flatMap(({ values }) => values));
  const told = values.filter(({ localName }) => known.has(localName));
  const entries = told.map((value) => `${doc(value, { indent: "  " })}\n  ${value.localName}: "${value.localName}",`);
  return `/**
 * Why a call failed, as \`reasonOf\` reads it from its error. A reason never changes its meaning.
 */
export const Reason = {
${entries.join("\n\n")}
} as const;

/**
 * Why a call failed. A newer service may have further reasons.
 */
export type Reason = (typeof Reason)[keyof typeof Reason] | (string & {});`;
}
