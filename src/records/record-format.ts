import { type Order, orderStatuses, petStatuses, type RecordChange, type StockedPet } from "../domain/catalog.ts";
import { isJsonObject } from "../exact-json/parse.ts";
import { boolean, type FieldFormat, int64, oneOf, text, textList, timestamp } from "./field.ts";
import { describeJson, FieldError, quote } from "./record-error.ts";

/** One field of a record: its name in files, its property in the program, and how its value is written. */
type Field<T> = { [P in keyof T]-?: { name: string; property: P; format: FieldFormat<T[P]> } }[keyof T];

/** A kind of record in files. The fields are in the order of the columns. */
export interface RecordFormat<T extends { readonly id: bigint }> {
  readonly singular: string;
  readonly plural: string;
  readonly fields: readonly Field<T>[];
}

/** The number of records in words, such as `1 pet`. */
export function formatCount(
  count: number,
  { singular, plural }: Pick<RecordFormat<never>, "singular" | "plural">,
): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

/** The names of the columns, in their order. */
export function columnNames<T extends { readonly id: bigint }>(format: RecordFormat<T>): string[] {
  return format.fields.map(({ name }) => name);
}

/** Reads a record from cells in the order of the fields. Undefined stands for a missing cell. Throws `FieldError`. */
export function recordFromCells<T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
  cells: readonly (string | undefined)[],
): RecordChange<T> {
  return build(format, (field, index) => {
    const cell = cells[index];
    return cell === undefined ? undefined : field.format.parseCell(cell);
  });
}

/** Whether a record has all of its fields. */
export function isWhole<T extends { readonly id: bigint }>(
  { fields }: RecordFormat<T>,
  record: RecordChange<T>,
): record is RecordChange<T> & T {
  return fields.every(({ property }) => property in record);
}

/** Writes a record as cells in the order of the fields. */
export function recordToCells<T extends { readonly id: bigint }>(format: RecordFormat<T>, record: T): string[] {
  return format.fields.map((field) => (field.format as FieldFormat<unknown>).formatCell(record[field.property]));
}

/**
 * Reads a record from a value of a JSON file: an object with the id and at least one other field. Throws `FieldError`.
 */
export function recordFromJson<T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
  value: unknown,
): RecordChange<T> {
  if (!isJsonObject(value)) {
    throw new FieldError(`must be an object, not ${describeJson(value)}`);
  }
  const members = new Map<string, unknown>(Object.entries(value));
  if (!members.has("id")) {
    throw new FieldError("id: is missing");
  }
  let known = 0;
  const record = build(format, (field) => {
    if (!members.has(field.name)) {
      return undefined;
    }
    known += 1;
    return field.format.parseJson(members.get(field.name));
  });
  const unknown = members.size > known ? unknownName(format, [...members.keys()]) : undefined;
  if (unknown !== undefined) {
    throw new FieldError(`${quote(unknown)} is not a field of ${format.plural}`);
  }
  if (known === 1) {
    throw new FieldError("there is no field but id, so there is nothing to import");
  }
  return record;
}

/** Writes a record as an object for `formatJsonLine`. */
export function recordToJson<T extends { readonly id: bigint }>(format: RecordFormat<T>, record: T): object {
  return Object.fromEntries(
    format.fields.map((field) => [
      field.name,
      (field.format as FieldFormat<unknown>).formatJson(record[field.property]),
    ]),
  );
}

/** The first name that no field has. */
export function unknownName<T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
  names: readonly string[],
): string | undefined {
  const known = new Set(columnNames(format));
  return names.find((name) => !known.has(name));
}

/** Builds a record of the fields for which `read` returns a value. */
function build<T extends { readonly id: bigint }>(
  { fields }: RecordFormat<T>,
  read: (field: Field<T>, index: number) => unknown,
): RecordChange<T> {
  const record: Partial<Record<keyof T, unknown>> = {};
  fields.forEach((field, index) => {
    const value = naming(field.name, () => read(field, index));
    if (value !== undefined) {
      record[field.property] = value;
    }
  });
  return record as RecordChange<T>;
}

function naming<V>(name: string, read: () => V): V {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldError ? new FieldError(`${name}: ${error.message}`) : error;
  }
}

/** Pets with their stock: `id,name,category,photoUrls,tags,status,quantity`. */
export const petRecord: RecordFormat<StockedPet> = {
  singular: "pet",
  plural: "pets",
  fields: [
    { name: "id", property: "id", format: int64 },
    { name: "name", property: "name", format: text },
    { name: "category", property: "category", format: text },
    { name: "photoUrls", property: "photoUrls", format: textList },
    { name: "tags", property: "tags", format: textList },
    { name: "status", property: "status", format: oneOf(petStatuses) },
    { name: "quantity", property: "quantity", format: int64 },
  ],
};

/** Orders: `id,petId,quantity,shipDate,status,complete`. */
export const orderRecord: RecordFormat<Order> = {
  singular: "order",
  plural: "orders",
  fields: [
    { name: "id", property: "id", format: int64 },
    { name: "petId", property: "petId", format: int64 },
    { name: "quantity", property: "quantity", format: int64 },
    { name: "shipDate", property: "shipDateMs", format: timestamp },
    { name: "status", property: "status", format: oneOf(orderStatuses) },
    { name: "complete", property: "complete", format: boolean },
  ],
};
