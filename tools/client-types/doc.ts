import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { paragraphs } from "../openapi/comments.ts";

type Described = Exclude<AnyDesc, DescFile>;

/** The longest line of the generated file. */
const maxWidth = 120;

/** A comment for editors: what the proto says of an element, and further paragraphs. */
export function doc(desc: Described, { indent = "", more = [] }: { indent?: string; more?: readonly string[] } = {}) {
  const start = `${indent} * `;
  const lines = [...paragraphs(desc), ...more].map((paragraph) =>
    wrap(paragraph, maxWidth - start.length).join(`\n${start}`),
  );
  return `${indent}/**\n${start}${lines.join(`\n${start.trimEnd()}\n${start}`)}\n${indent} */`;
}

function wrap(paragraph: string, width: number): string[] {
  const lines = [""];
  for (const word of paragraph.split(" ")) {
    const line = lines.at(-1) === "" ? word : `${lines.at(-1)} ${word}`;
    if (line.length > width && lines.at(-1) !== "") {
      lines.push(word);
    } else {
      lines[lines.length - 1] = line;
    }
  }
  return lines;
}
