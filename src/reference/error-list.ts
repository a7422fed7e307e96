import { escapeHtml } from "./html.ts";
import type { OpenApiDocument, OpenApiErrorReason } from "./openapi-view.ts";

/** Every error code with its meaning and what to do, as HTML; each has its name as an anchor. */
export function errorList(document: OpenApiDocument): string {
  return document["x-error-reasons"].map(writeReason).join("\n");
}

function writeReason({ code, status, canonical, meaning, remedy }: OpenApiErrorReason): string {
  const paragraphs = [meaning, remedy].map((text) => `<p>${writeInline(text)}</p>`);
  return (
    `<div class="error" id="${code}"><h4><span class="status">${status}</span> <a class="anchor" href="#${code}">${code}</a>` +
    ` <span class="canonical">${canonical}</span></h4>${paragraphs.join("")}</div>`
  );
}

function writeInline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
