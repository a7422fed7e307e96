import { type DescMessage, fromBinary, type MessageShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { ProtocolError } from "../http/protocol-error.ts";
import { fromProtoJson } from "./proto-json.ts";

/** How a message stands on the wire. */
export interface Codec {
  /** Throws `malformed`. */
  decode<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc>;
  encode<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): string | Uint8Array;
}

/** The protobuf wire format. Unknown fields are skipped: nobody would look at them. */
export const binaryCodec: Codec = {
  decode(desc, bytes) {
    return decoding(desc, () => fromBinary(desc, bytes, { readUnknownFields: false }));
  },
  encode: toBinary,
};

/** ProtoJSON, as `fromProtoJson` reads it. */
export const jsonCodec: Codec = {
  decode(desc, bytes) {
    return decoding(desc, () => fromProtoJson(desc, bytes));
  },
  encode: toJsonString,
};

function decoding<T>(desc: DescMessage, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    // The decoders' own words may quote the input: they are kept as the cause, and not shown.
    const malformed = new ProtocolError(
      "malformed",
      `The request is not a valid ${desc.typeName}. Check its encoding.`,
    );
    malformed.cause = error;
    throw malformed;
  }
}
