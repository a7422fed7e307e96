import {
  type DescMessage,
  fromBinary,
  fromJsonString,
  type MessageShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { ProtocolError } from "../http/protocol-error.ts";

/** How a message stands on the wire. */
export interface Codec {
  /** Throws `malformed`. */
  decode<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc>;
  encode<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): Uint8Array;
}

/** The protobuf wire format. */
export const binaryCodec: Codec = {
  decode(desc, bytes) {
    return decoding(desc, () => fromBinary(desc, bytes));
  },
  encode: toBinary,
};

/** ProtoJSON. Unknown fields are ignored, so that newer clients can call older servers. */
export const jsonCodec: Codec = {
  decode(desc, bytes) {
    return decoding(desc, () => fromJsonString(desc, utf8.decode(bytes), { ignoreUnknownFields: true }));
  },
  encode(desc, message) {
    return encoder.encode(toJsonString(desc, message));
  },
};

const utf8 = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

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
