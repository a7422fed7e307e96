import { clearField, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import type { Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { Fields } from "./fields/field-access.ts";

/** The name of the header that carries a field, such as `If-Match`; undefined for a field that none carries. */
export type HeaderOf = (field: DescField) => string | undefined;

/** A text field that a header carries. It stands neither in the path nor in the query nor in a body. */
export interface FieldHeader {
  /** In lower case. */
  readonly headerName: string;
  readonly field: DescField;
}

/** The fields of a message that headers carry. Throws an `Error` for one that a header cannot carry. */
export function fieldHeaders({ fields }: DescMessage, headerOf: HeaderOf): readonly FieldHeader[] {
  return fields.flatMap((field) => {
    const headerName = headerOf(field)?.toLowerCase();
    if (headerName === undefined) {
      return [];
    }
    if (field.fieldKind !== "scalar" || field.scalar !== ScalarType.STRING || field.oneof !== undefined) {
      throw new Error(`the field ${field.name}, which ${headerName} carries, is no text, or one of a oneof`);
    }
    return [{ headerName, field }];
  });
}

/**
 * Sets fields from the headers of a request, whatever its body has set. The lines of one header are joined by commas. A
 * field whose header is absent is not set.
 */
export function readFieldHeaders(headers: readonly FieldHeader[], exchange: Exchange, message: Fields): void {
  for (const { headerName, field } of headers) {
    const value = exchange.header(headerName);
    if (value !== undefined) {
      message[field.localName] = value;
    } else if (Object.hasOwn(message, field.localName)) {
      clearField(message as Message & Fields, field);
    }
  }
}

/** Sets the headers of an answer from fields. An empty field has no header. */
export function writeFieldHeaders(headers: readonly FieldHeader[], fields: Fields, header: HeaderList): void {
  for (const { headerName, field } of headers) {
    const value = fields[field.localName] as string | undefined;
    if (value !== undefined && value !== "") {
      header.set(headerName, value);
    }
  }
}
