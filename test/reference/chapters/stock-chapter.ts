import { readChapters } from "../../../src/reference/chapters/chapter.ts";
import { templateValues } from "../../../src/reference/chapters/template-values.ts";
import { openApiDocument } from "../../../src/reference/openapi.ts";
import { listOperations } from "../../../src/reference/operations.ts";
import { apiServices } from "../../../src/server/api.ts";

const document = JSON.parse(openApiDocument({ production: undefined, staging: undefined }));
const operations = listOperations(document, apiServices);
const baseUrl = "https://pets.example/v1";
const chapters = readChapters(templateValues({ document, operations, servers: [], baseUrl }));

/** The chapter on stock, as HTML. */
export const stockChapter = chapters.find(({ id }) => id === "changing-stock")?.html ?? "";

/** Its text, with single spaces. */
export const stockText = textOf(stockChapter).replaceAll(/\s+/g, " ");

/** The code of each block in the chapter. */
export const stockCode = [...stockChapter.matchAll(/<pre[^>]*><code>(.*?)<\/code>/gs)].map(([, html = ""]) =>
  textOf(html),
);

function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
