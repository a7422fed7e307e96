import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Exchange } from "../http/exchange.ts";
import type { Fields } from "./fields.ts";
import type { HttpRule } from "./routes/http-rule.ts";
import { decodeQueryName, splitQuery } from "./url-text.ts";

/** Links to the next page of a list whose body has no place for the token. Source: AIP-158. */
export interface Paging {
  /** The `Link` to the next page (RFC 8288); undefined on the last page. */
  nextLink(exchange: Exchange, response: Fields): string | undefined;
}

/**
 * The paging of an RPC. Undefined unless its request takes a `page_token` from the query, and its response has a
 * `next_page_token` outside of the body.
 */
export function createPaging(rule: HttpRule, bound: ReadonlySet<string>): Paging | undefined {
  const token = stringField(rule.method.input, "page_token");
  const next = stringField(rule.method.output, "next_page_token");
  const isHidden = rule.responseBody !== "" && rule.responseBody !== next?.name;
  if (token === undefined || next === undefined || !isHidden || bound.has(token.name)) {
    return undefined;
  }
  const fields = rule.method.input.fields.filter((field) => field !== token);
  const kept = new Set(fields.flatMap(({ name, jsonName }) => [name, jsonName]));
  return {
    nextLink: (exchange, response) => {
      const value = response[next.localName] as string | undefined;
      return value ? nextLink(exchange, kept, `${token.jsonName}=${encodeToken(value)}`) : undefined;
    },
  };
}

function stringField(desc: DescMessage, name: string) {
  return desc.fields.find(
    (field) =>
      field.name === name &&
      field.fieldKind === "scalar" &&
      field.scalar === ScalarType.STRING &&
      field.oneof === undefined,
  );
}

/** The URL of the request with another page token, and without what is none of the request's fields. */
function nextLink(exchange: Exchange, kept: ReadonlySet<string>, token: string): string {
  const { scheme, authority, path, query } = exchange;
  const others = query === "" ? [] : query.split("&").filter((parameter) => isOneOf(kept, parameter));
  const address = `${scheme}://${authority}${path}?${[...others, token].join("&")}`;
  return `<${address.replace(outsideUri, escapeByte)}>; rel="next"`;
}

function isOneOf(names: ReadonlySet<string>, parameter: string): boolean {
  const parts = splitQuery(parameter);
  return parts.length > 0 && parts.every(({ name }) => names.has(decodeQueryName(name)?.split(".", 1)[0] ?? ""));
}

/** Characters that a parser may accept in a request target, but RFC 3986 does not, such as `<`, `>` and `"`. */
const outsideUri = /[^!$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]/g;

/** Request targets are read as Latin-1: a character is a byte. */
function escapeByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

function encodeToken(token: string): string {
  return encodeURIComponent(token.toWellFormed());
}
