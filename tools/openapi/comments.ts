import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/**
 * The paragraphs of an element's comment, with their lines joined. Throws an `Error` if there is no comment: the
 * reference would show the element without a word.
 */
export function paragraphs(desc: Exclude<AnyDesc, DescFile>): readonly string[] {
  const text = getComments(desc).leading?.trim() ?? "";
  if (text === "") {
    throw new Error(`${desc.toString()} has no comment`);
  }
  return text.split(/\n\s*\n/).map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, " "));
}

/** The whole comment on an element, as Markdown. */
export function description(desc: Exclude<AnyDesc, DescFile>): string {
  return paragraphs(desc).join("\n\n");
}

/** The first paragraph as a title, without its full stop, and the others. */
export function summaryAndDescription(desc: Exclude<AnyDesc, DescFile>): { summary: string; description?: string } {
  const [first = "", ...others] = paragraphs(desc);
  const summary = first.replace(/\.$/, "");
  return others.length === 0 ? { summary } : { summary, description: others.join("\n\n") };
}
