import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";

/** `application/json`, with parameters or without. Source: RFC 9110, 8.3.1. */
const json = /^application\/json[ \t]*(?:;(.*))?$/i;

/** Longer than any that means something. What is longer is not looked at, which could take long. */
const maxLength = 256;

/** A parameter, its value a token or a quoted string. */
const parameter = /[ \t]*([^=; \t]+)=(?:"([^"]*)"|([^; \t]*))[ \t]*(?:;|$)/g;

/** Throws `unsupported_media_type` unless the body, by its headers, is JSON in UTF-8 without a content coding. */
export function assertJsonBody(exchange: Exchange): void {
  const type = exchange.header("content-type");
  // No type at all is taken as JSON.
  if (type !== undefined && type !== "" && type !== "application/json" && !isUtf8Json(type)) {
    throw new ProtocolError("unsupported_media_type", "Send the body as application/json in UTF-8.");
  }
  const encoding = exchange.header("content-encoding");
  if (encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity") {
    throw new ProtocolError("unsupported_media_type", "Send the body without a Content-Encoding.");
  }
}

function isUtf8Json(type: string): boolean {
  const match = type.length > maxLength ? null : json.exec(type.trim());
  return match !== null && charsets(match[1] ?? "").every((charset) => charset.toLowerCase() === "utf-8");
}

function charsets(parameters: string): string[] {
  return [...parameters.matchAll(parameter)]
    .filter(([, name]) => name?.toLowerCase() === "charset")
    .map(([, , quoted, plain]) => quoted ?? plain ?? "");
}
