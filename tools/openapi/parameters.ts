import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { PathTemplate } from "../../src/gateway/routes/http-rule.ts";
import type { QueryField, QueryFields } from "../../src/gateway/url.ts";
import { headerOf } from "../../src/interceptors/operation.ts";
import { resolveFieldPath } from "../../src/proto-json/fields.ts";
import { fieldExample } from "./examples.ts";
import { describeField, isRequired } from "./rules.ts";
import type { Schemas } from "./schemas.ts";
import type { Parameter, Schema } from "./types.ts";

/** The parameters that a path template takes out of the path. */
export function pathParameters(input: DescMessage, template: PathTemplate, schemas: Schemas): readonly Parameter[] {
  return template.variables.map(({ fieldPath }) => {
    const { leaf } = resolveFieldPath(input, fieldPath);
    const name = pathParameterName(input, fieldPath);
    return { ...parameter(name, "path", leaf, schemas), required: true, example: fieldExample(leaf) };
  });
}

/** The JSON name of a field of the request; a field of a field keeps the path that the template has. */
export function pathParameterName(input: DescMessage, fieldPath: string): string {
  return fieldPath.includes(".") ? fieldPath : resolveFieldPath(input, fieldPath).leaf.jsonName;
}

/** The position in the messages' fields while a query is described. */
interface QueryPlace {
  /** The paths, in proto names, of fields that come from elsewhere. */
  readonly boundFields: ReadonlySet<string>;
  readonly protoPath: readonly string[];
  readonly jsonPath: readonly string[];
  readonly within: readonly QueryFields[];
}

/** The parameters of a query, by their JSON names. The gateway accepts their proto names, too. */
export function queryParameters(
  fields: QueryFields,
  boundFields: ReadonlySet<string>,
  schemas: Schemas,
): readonly Parameter[] {
  return parametersOf(fields, { boundFields, protoPath: [], jsonPath: [], within: [] }, schemas);
}

function parametersOf(fields: QueryFields, place: QueryPlace, schemas: Schemas): readonly Parameter[] {
  const distinct = new Set(fields.values());
  return [...distinct].flatMap((queried) => {
    const { name, jsonName } = queried.field;
    const protoPath = [...place.protoPath, name];
    const isBound = place.boundFields.has(protoPath.join("."));
    return isBound
      ? []
      : parametersAt(queried, { ...place, protoPath, jsonPath: [...place.jsonPath, jsonName] }, schemas);
  });
}

/** A recursive message is described down to where it repeats. */
function parametersAt(queried: QueryField, place: QueryPlace, schemas: Schemas): readonly Parameter[] {
  switch (queried.kind) {
    case "leaf": {
      const required = isRequired(queried.field) && { required: true };
      return [{ ...parameter(place.jsonPath.join("."), "query", queried.field, schemas), ...required }];
    }
    case "branch": {
      const { fields } = queried;
      const isKnown = place.within.includes(fields);
      return isKnown ? [] : parametersOf(fields, { ...place, within: [...place.within, fields] }, schemas);
    }
    case "unsettable":
      return [];
  }
}

/** The parameters of the headers that carry fields of a request. */
export function headerParameters({ fields }: DescMessage, schemas: Schemas): readonly Parameter[] {
  return fields.flatMap((field) => {
    const name = headerOf(field);
    if (name === undefined) {
      return [];
    }
    const { schema, ...described } = parameter(name, "header", field, schemas);
    return [{ ...described, schema: { ...schema, ...headerKeywords[name] } }];
  });
}

/** What is known of the values of a header, whatever field it carries, in the Latin-1 of HTTP. */
const headerKeywords: Readonly<Record<string, Schema>> = {
  // RFC 9110, 13.1.1. The length is the longest that the service reads.
  "If-Match": { pattern: ifMatchPattern(), maxLength: 16_384 },
};

/** `*`, or a list of entity tags. Elements of the list may be empty. */
function ifMatchPattern(): string {
  const tag = '(W/)?"[!#-~\\x80-\\xff]*"';
  return `^[ \\t]*(\\*[ \\t]*|[ \\t,]*${tag}([ \\t]*,[ \\t,]*${tag})*([ \\t]*,[ \\t,]*)?[ \\t]*)$`;
}

function parameter(name: string, place: Parameter["in"], field: DescField, schemas: Schemas): Parameter {
  return { name, in: place, description: describeField(field), schema: schemas.field(field) };
}
