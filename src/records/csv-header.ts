import { quote } from "./quotation.ts";
import { FieldError } from "./record-error.ts";
import { columnNames, type RecordFormat, unknownName } from "./record-format.ts";

/**
 * Puts the cells of a row in the order of the record's fields, undefined for those without a column. Throws `FieldError`
 * for too many or too few.
 */
export type CellOrder = (cells: readonly string[]) => (string | undefined)[];

/** Reads the header of a CSV file: each column once, in any order, the id and at least one more. Throws `FieldError`. */
export function parseCsvHeader<T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
  header: readonly string[],
): CellOrder {
  const names = columnNames(format);
  const unknown = unknownName(format, header);
  if (unknown !== undefined) {
    throw new FieldError(`${quote(unknown)} is not a column of ${format.plural}; the columns are ${names.join(",")}`);
  }
  if (!header.includes("id")) {
    throw new FieldError("the column id is missing");
  }
  const repeated = header.find((name, index) => header.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new FieldError(`the column ${repeated} stands there twice`);
  }
  if (header.length === 1) {
    throw new FieldError("there is no column but id, and so nothing to import");
  }
  const positions = names.map((name) => header.indexOf(name));
  return (cells) => {
    if (cells.length !== header.length) {
      throw new FieldError(`there must be ${header.length} cells, as in the header, not ${cells.length}`);
    }
    return positions.map((position) => cells[position]);
  };
}
