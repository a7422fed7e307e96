import type { OpenApiDocument, OpenApiErrorReason } from "../openapi/view.ts";
import { inline } from "./prose.ts";

/** Every error code with its meaning and what to do, as HTML; each has its name as an anchor. */
export function errorList(document: OpenApiDocument): string {
  return `<div class="errors">${document["x-error-reasons"].map(writeReason).join("\n")}</div>`;
}

function writeReason({ code, status, canonical, meaning, remedy }: OpenApiErrorReason): string {
  return (
    `<div class="error" id="${code}"><h4><a class="anchor" href="#${code}">${code}</a></h4>` +
    `<p class="statuses"><span class="status s${Math.floor(status / 100)}">${status}</span> <span class="canonical">${canonical}</span></p>` +
    `<p>${inline(meaning)}</p><p>${inline(remedy)}</p></div>`
  );
}
