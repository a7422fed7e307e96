import { quote } from "./quotation.ts";
import { FieldError } from "./record-error.ts";
import { columnNames, type RecordFormat, unknownName } from "./record-format.ts";

/** Puts the cells of a row in the order of the record's fields. Throws `FieldError` for too many or too few. */
export type CellOrder = (cells: readonly string[]) => string[];

/** Reads the header of a CSV file: every column once, in any order. Throws `FieldError`. */
export function parseCsvHeader<T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
  header: readonly string[],
): CellOrder {
  const names = columnNames(format);
  const unknown = unknownName(format, header);
  if (unknown !== undefined) {
    throw new FieldError(`${quote(unknown)} is not a column of ${format.plural}; the columns are ${names.join(",")}`);
  }
  const missing = names.find((name) => !header.includes(name));
  if (missing !== undefined) {
    throw new FieldError(`the column ${missing} is missing`);
  }
  const repeated = header.find((name, index) => header.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new FieldError(`the column ${repeated} stands there twice`);
  }
  const positions = names.map((name) => header.indexOf(name));
  return (cells) => {
    if (cells.length !== names.length) {
      throw new FieldError(`there must be ${names.length} cells, as in the header, not ${cells.length}`);
    }
    return positions.map((position) => cells[position] ?? "");
  };
}
