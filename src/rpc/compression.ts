import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionNegotiate } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { bodyTooLarge } from "../http/body.ts";
import { ProtocolError } from "./protocol-error.ts";

/** Answers smaller than this, in bytes, are not worth compressing. */
const compressMinBytes = 1024;

const compressBrotli = promisify(brotliCompress);

/** Brotli at a level for answers made on the fly: its default is for files compressed once, and ten times slower. */
const brotli: Compression = {
  ...compressionBrotli,
  compress: (bytes) => compressBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

const available = [compressionGzip, brotli];

/** The compression of one call, as its headers ask for it. */
export interface CallCompression {
  /** Whether the headers say that the request is not compressed. */
  readonly isIdentity: boolean;
  /** Throws `unsupported_compression`, `malformed` or `body_too_large`. */
  decompress(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array>;
  /** Compresses an answer where the client takes it and it is worth it; `name` is undefined where it was not. */
  compress(bytes: Uint8Array): Promise<{ readonly bytes: Uint8Array; readonly name: string | undefined }>;
}

/** Reads the two headers; `acceptHeader` names the one in which clients are told what is supported. */
export function negotiateCompression(
  requested: string | undefined,
  accepted: string | undefined,
  acceptHeader: string,
): CallCompression {
  const { request, response, error } = compressionNegotiate(
    available,
    requested ?? null,
    accepted ?? null,
    acceptHeader,
  );
  return {
    isIdentity: (requested ?? "identity") === "identity",
    async decompress(bytes, maxBytes) {
      if (error !== undefined) {
        const names = available.map(({ name }) => name).join(", ");
        const metadata = { [acceptHeader]: names };
        throw new ProtocolError("unsupported_compression", `Compress the request with one of: ${names}.`, metadata);
      }
      return request === null ? bytes : decompressWith(request, bytes, maxBytes);
    },
    async compress(bytes) {
      if (response === null || bytes.length < compressMinBytes) {
        return { bytes, name: undefined };
      }
      return { bytes: await response.compress(bytes), name: response.name };
    },
  };
}

async function decompressWith(compression: Compression, bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await compression.decompress(bytes, maxBytes);
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.ResourceExhausted) {
      throw bodyTooLarge(maxBytes);
    }
    throw new ProtocolError("malformed", `The request is not valid ${compression.name}. Check its compression.`);
  }
}
