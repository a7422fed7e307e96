import {
  type DescMessage,
  fromBinary,
  type MessageShape,
  type Registry,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { ProtocolError } from "../http/protocol-error.ts";
import { joinJson, type Parts, type PreparedMessage, writeParts } from "./prepared-message.ts";
import { fromProtoJson } from "./proto-json.ts";

/** Converts messages to and from bytes. */
export interface Codec {
  /** Throws `malformed`. */
  decode<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc>;
  encode<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): string | Uint8Array;
  /** Encodes a message that is made of parts. */
  encodeParts(desc: DescMessage, parts: Parts): Promise<Uint8Array>;
  /** The bytes of a prepared message that has them in this format; undefined for any other. */
  readyBytes(message: PreparedMessage): Uint8Array | undefined;
}

/**
 * Decodes the message of a request. Throws `malformed`; and the request's `contentFault`, where it has one, for a message
 * that is well-formed.
 */
export function decodeMessage(
  codec: Codec,
  desc: DescMessage,
  bytes: Uint8Array,
  contentFault: ProtocolError | undefined,
): MessageShape<DescMessage> {
  const message = codec.decode(desc, bytes);
  if (contentFault !== undefined) {
    throw contentFault;
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
    return decoding(desc, () => fromBinary(desc, bytes, { readUnknownFields: false }));
  },
  encode: toBinary,
  /** Concatenated messages are merged. Source: https://protobuf.dev/programming-guides/encoding/#last-one-wins */
  encodeParts: (desc, parts) => collect(writeParts(parts, (part) => toBinary(desc, part))),
  readyBytes: ({ binary }) => binary?.(),
};

/** ProtoJSON, as `fromProtoJson` reads it. The types in an `Any` are looked up in the registry. */
export function createJsonCodec(registry: Registry): Codec {
  const options = { registry };
  const encode: Codec["encode"] = (desc, message) => toJsonString(desc, message, options);
  return {
    decode(desc, bytes) {
      return decoding(desc, () => fromProtoJson(desc, bytes, registry));
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
    // The decoders' messages may quote the input, so they are kept as the cause and not shown.
    const malformed = new ProtocolError(
      "malformed",
      `The request is not a valid ${desc.typeName}. Check its encoding.`,
    );
    malformed.cause = error;
    throw malformed;
  }
}
