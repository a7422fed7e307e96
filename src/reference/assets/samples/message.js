// @ts-check
import { ExactNumber, integerDigits, parseExactJson } from "../exact-json.js";

/**
 * The type of a field. Enums have the names of their values: over REST, in ProtoJSON and in TypeScript.
 *
 * @typedef {object} FieldShape
 * @property {"int64" | "number" | "string" | "bool" | "enum" | "duration" | "message"} type
 * @property {boolean} [repeated]
 * @property {string} [enumName]
 * @property {Readonly<Record<string, { readonly proto: string, readonly local: string }>>} [enumValues]
 * @property {MessageShape} [fields]
 */

/** @typedef {Readonly<Record<string, FieldShape>>} MessageShape */

/**
 * A message as code; or the reason why there is none.
 *
 * @typedef {object} SampleMessage
 * @property {string} typescript
 * @property {string} json ProtoJSON, on one line.
 * @property {readonly string[]} enums The enums that the TypeScript names.
 * @property {string} [fault]
 */

/**
 * A value in both languages.
 *
 * @typedef {{ readonly typescript: string, readonly json: string }} Written
 */

/** The input does not fit the message. */
class FieldFault extends Error {}

/**
 * The message of the RPC for a call over REST.
 *
 * @param {import("./call.js").CallableOperation} operation
 * @param {import("./call.js").CallInput} input
 * @returns {SampleMessage}
 */
export function createMessage({ parameters, bodyField, request }, { values, body }) {
  /** @type {Set<string>} */
  const enums = new Set();
  try {
    const fromParameters = parameters
      .map(({ name, field = name }) => ({ name, field, texts: (values[name] ?? []).filter((text) => text !== "") }))
      .filter(({ field, texts }) => request[field] !== undefined && texts.length > 0)
      .map(({ name, field, texts }) => member(field, writeParameter(name, texts, shapeOf(request, field), enums)));
    const fromBody =
      bodyField === undefined
        ? []
        : bodyField === "*"
          ? writeMembers("The body", parseWholeBody(body), request, enums)
          : [member(bodyField, writeValue(bodyField, parseBody(body), shapeOf(request, bodyField), enums))];
    // Of two parameters for one field, the later one wins.
    const { typescript, json } = writeObject([...new Map([...fromParameters, ...fromBody])]);
    return { typescript, json, enums: [...enums] };
  } catch (reason) {
    if (reason instanceof FieldFault) {
      return { typescript: "", json: "", enums: [], fault: reason.message };
    }
    throw reason;
  }
}

/**
 * @param {MessageShape} shape
 * @param {string} name
 * @returns {FieldShape}
 */
function shapeOf(shape, name) {
  return shape[name] ?? { type: "string" };
}

/**
 * @param {string} name
 * @param {Written} written
 * @returns {readonly [string, Written]}
 */
function member(name, written) {
  return [name, written];
}

/**
 * No body at all stands for an empty message.
 *
 * @param {string | undefined} body
 */
function parseWholeBody(body = "") {
  return body.trim() === "" ? {} : parseBody(body);
}

/** @param {string | undefined} body */
function parseBody(body = "") {
  try {
    return parseExactJson(body);
  } catch {
    throw new FieldFault("The body is not JSON.");
  }
}

/**
 * Parameters are text, whatever their type.
 *
 * @param {string} name
 * @param {readonly string[]} texts
 * @param {FieldShape} shape
 * @param {Set<string>} enums
 */
function writeParameter(name, texts, shape, enums) {
  const isNumber = shape.type === "int64" || shape.type === "number";
  const values = texts.map((text) => {
    if (shape.type === "bool" && /^(true|false)$/.test(text)) {
      return text === "true";
    }
    return isNumber ? new ExactNumber(text) : text;
  });
  return writeValue(name, shape.repeated === true ? values : values[0], shape, enums);
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {FieldShape} shape
 * @param {Set<string>} enums
 * @returns {Written}
 */
function writeValue(name, value, shape, enums) {
  if (shape.repeated === true) {
    const { repeated: _, ...single } = shape;
    const items = asList(name, value).map((item) => writeValue(name, item, single, enums));
    return { typescript: `[${join(items, "typescript")}]`, json: `[${join(items, "json")}]` };
  }
  switch (shape.type) {
    case "int64":
    case "number":
      return writeNumber(name, value, shape.type === "int64" ? "n" : "");
    case "enum":
      return writeEnum(name, value, shape, enums);
    case "duration":
      return writeDuration(name, value);
    case "message":
      return writeObject(writeMembers(name, value, shape.fields ?? {}, enums));
    default:
      if (typeof value !== (shape.type === "bool" ? "boolean" : "string")) {
        throw new FieldFault(`${name} is no ${shape.type === "bool" ? "boolean" : "string"}.`);
      }
      return { typescript: JSON.stringify(value), json: JSON.stringify(value) };
  }
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {readonly unknown[]}
 */
function asList(name, value) {
  if (!Array.isArray(value)) {
    throw new FieldFault(`${name} is no list.`);
  }
  return value;
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {string} suffix
 */
function writeNumber(name, value, suffix) {
  const digits = value instanceof ExactNumber ? integerDigits(value.text) : undefined;
  if (digits === undefined) {
    throw new FieldFault(`${name} is no integer.`);
  }
  return { typescript: digits + suffix, json: digits };
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {FieldShape} shape
 * @param {Set<string>} enums
 */
function writeEnum(name, value, { enumName = "", enumValues = {} }, enums) {
  const known = typeof value === "string" && Object.hasOwn(enumValues, value) ? enumValues[value] : undefined;
  if (known === undefined) {
    throw new FieldFault(`${name} is none of ${Object.keys(enumValues).join(", ")}.`);
  }
  enums.add(enumName);
  return { typescript: `${enumName}.${known.local}`, json: JSON.stringify(known.proto) };
}

/**
 * Source: google/protobuf/duration.proto
 *
 * @param {string} name
 * @param {unknown} value
 * @returns {Written}
 */
function writeDuration(name, value) {
  const [whole, seconds = "", fraction = ""] = /^(\d+)(?:\.(\d{1,9}))?s$/.exec(String(value)) ?? [];
  if (typeof value !== "string" || whole === undefined) {
    throw new FieldFault(`${name} is no duration, such as "900s".`);
  }
  const nanos = Number(fraction.padEnd(9, "0"));
  const typescript = `{ seconds: ${BigInt(seconds)}n${nanos === 0 ? "" : `, nanos: ${nanos}`} }`;
  return { typescript, json: JSON.stringify(value) };
}

/**
 * Unknown fields are left out: REST ignores them, but RPC would refuse them.
 *
 * @param {string} name
 * @param {unknown} value
 * @param {MessageShape} fields
 * @param {Set<string>} enums
 */
function writeMembers(name, value, fields, enums) {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof ExactNumber) {
    throw new FieldFault(`${name} is no object.`);
  }
  return Object.entries(value)
    .filter(([key]) => Object.hasOwn(fields, key))
    .map(([key, child]) => member(key, writeValue(key, child, shapeOf(fields, key), enums)));
}

/** @param {readonly (readonly [string, Written])[]} members */
function writeObject(members) {
  const typescript = members.map(([name, written]) => `${name}: ${written.typescript}`).join(", ");
  const json = members.map(([name, written]) => `${JSON.stringify(name)}: ${written.json}`).join(", ");
  return { typescript: members.length === 0 ? "{}" : `{ ${typescript} }`, json: `{${json}}` };
}

/**
 * @param {readonly Written[]} items
 * @param {keyof Written} language
 */
function join(items, language) {
  return items.map((item) => item[language]).join(", ");
}
