import {
  type DescField,
  type DescMessage,
  fromBinary,
  type MessageShape,
  type Registry,
  ScalarType,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { JsonFault, maxJsonValues, parseJson } from "../exact-json/parse.ts";
import type { Exchange } from "../http/exchange.ts";
import { malformedField, ProtocolError } from "../http/protocol-error.ts";
import { ContentFault } from "../proto-json/content-fault.ts";
import { protoJson } from "../proto-json/json-policy.ts";
import { JsonReaders } from "../proto-json/json-reader.ts";
import { joinJson, type Parts, type PreparedMessage, writeParts } from "./prepared-message.ts";

/** Converts messages to and from bytes. */
export interface Codec {
  /** Throws `malformed`. */
  decode<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc>;
  encode<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): string | Uint8Array;
  /** Encodes a message that is made of parts. */
  encodeParts(desc: DescMessage, parts: Parts): Promise<Uint8Array>;
  /** The bytes of a prepared message, if it already has them in this format. */
  readyBytes(message: PreparedMessage): Uint8Array | undefined;
}

/** Decodes the message of a request. Throws `malformed`, or else the fault of the request's head, if it has one. */
export function decodeMessage(
  codec: Codec,
  desc: DescMessage,
  bytes: Uint8Array,
  { fault }: Exchange,
): MessageShape<DescMessage> {
  const message = codec.decode(desc, bytes);
  if (fault !== undefined) {
    throw fault;
  }
  return message;
}

/** Encodes a prepared message. */
export async function encodePrepared(
  codec: Codec,
  desc: DescMessage,
  message: PreparedMessage,
): Promise<string | Uint8Array> {
  if (message.parts !== undefined) {
    return await codec.encodeParts(desc, message.parts());
  }
  return codec.readyBytes(message) ?? codec.encode(desc, await message.whole());
}

/** The protobuf wire format. Unknown fields are skipped: nothing reads them. */
export const binaryCodec: Codec = {
  decode(desc, bytes) {
    return decoding(desc, () => {
      // A value has one byte at least.
      if (bytes.length > maxValues) {
        assertFewValues(desc, bytes);
      }
      return fromBinary(desc, bytes, { readUnknownFields: false });
    });
  },
  encode: toBinary,
  /** Concatenated messages are merged. Source: https://protobuf.dev/programming-guides/encoding/#last-one-wins */
  encodeParts: (desc, parts) => collect(writeParts(parts, (part) => toBinary(desc, part))),
  readyBytes: ({ binary }) => binary?.(),
};

/** How many values a message may hold, as in JSON. Each costs memory and time, and a compressed one next to no bytes. */
const maxValues = maxJsonValues;

/**
 * Throws if a message holds more than `maxValues`. Each entry of a map is one: no message of ours has maps. So is each
 * field of a group.
 *
 * It reads as the library does, so that both find the same fields: the last of packed numbers may end behind their
 * length. But the tag of a known field must have the wire type of the field, which the library does not look at.
 */
function assertFewValues(message: DescMessage, bytes: Uint8Array): void {
  const reader = new BinaryReader(bytes);
  let count = 0;
  let openGroups = 0;
  const countOne = () => {
    count++;
    if (count > maxValues) {
      throw new ProtocolError("malformed", `The request must not hold more than ${maxValues} values.`);
    }
  };
  const countFields = (desc: DescMessage, end: number) => {
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      const field = openGroups > 0 ? undefined : desc.fields.find((each) => each.number === number);
      const isEnd = wireType === WireType.EndGroup;
      if ((field !== undefined && !mayHave(field, wireType)) || (isEnd && openGroups === 0)) {
        throw new Error(`the field ${number} of ${desc.typeName} has the wire type ${wireType}`);
      }
      countOne();
      if (wireType === WireType.StartGroup) {
        openGroups++;
      } else if (isEnd) {
        openGroups--;
      } else if (field === undefined || field.fieldKind === "map" || wireType !== WireType.LengthDelimited) {
        reader.skip(wireType, number);
      } else {
        const fieldEnd = reader.uint32() + reader.pos;
        const numeric = numericWireType(field);
        if (field.message !== undefined) {
          countFields(field.message, fieldEnd);
        } else if (numeric === undefined) {
          reader.pos = fieldEnd;
        } else {
          for (; reader.pos < fieldEnd; countOne()) {
            reader.skip(numeric, number);
          }
        }
      }
    }
  };
  countFields(message, bytes.length);
}

/** Whether a field may be written with a wire type: a list of numbers may be packed or not. */
function mayHave(field: DescField, wireType: WireType): boolean {
  const numeric = field.fieldKind === "map" ? undefined : numericWireType(field);
  return numeric === undefined || field.fieldKind === "list"
    ? wireType === WireType.LengthDelimited || wireType === numeric
    : wireType === numeric;
}

/** The wire type of a number; undefined for texts, bytes and messages. */
function numericWireType({ scalar, message }: DescField): WireType | undefined {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return undefined;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return message === undefined ? WireType.Varint : undefined;
  }
}

/**
 * ProtoJSON. It ignores unknown fields, so that newer clients can call older servers. The types in an `Any` are looked up
 * in the registry.
 *
 * The library's own reader drops unknown enum values with unknown fields: a filter would become no filter. It also reads
 * all numbers as doubles, which changes large integers, and takes integers and durations that ProtoJSON refuses.
 */
export function createJsonCodec(registry: Registry): Codec {
  const options = { registry };
  const readers = new JsonReaders(protoJson, registry);
  const encode: Codec["encode"] = (desc, message) => toJsonString(desc, message, options);
  return {
    decode(desc, bytes) {
      return decoding(desc, () => readers.message(desc)(parseJson(bytes)) as MessageShape<typeof desc>);
    },
    encode,
    encodeParts: (desc, parts) => collect(joinJson(writeParts(parts, (part) => toJsonString(desc, part, options)))),
    readyBytes: () => undefined,
  };
}

async function collect(pieces: AsyncIterable<string | Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) {
    chunks.push(typeof piece === "string" ? Buffer.from(piece) : piece);
  }
  return Buffer.concat(chunks);
}

function decoding<T>(desc: DescMessage, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const contentError = toContentError(error, "The request");
    if (contentError instanceof ProtocolError) {
      throw contentError;
    }
    // The messages of other errors may quote the input, so they are kept as the cause and not shown.
    const malformed = new ProtocolError(
      "malformed",
      `The request is not a valid ${desc.typeName}. Check its encoding.`,
    );
    malformed.cause = error;
    throw malformed;
  }
}

/**
 * Converts a fault in the content of a request to the error that clients see. Returns any other error unchanged.
 * `whole` names the subject of a fault without a path.
 */
export function toContentError(error: unknown, whole: string): unknown {
  if (error instanceof ContentFault && error.path !== "") {
    return malformedField(error.path, error.reason);
  }
  return error instanceof ContentFault || error instanceof JsonFault
    ? new ProtocolError("malformed", `${whole} ${error.reason}.`)
    : error;
}
