import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants, gunzip, gzip, type ZlibOptions } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { compressionNegotiate } from "@connectrpc/connect/protocol";
import { bodyTooLarge } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";

/** The smallest answer that is compressed, in bytes. */
const compressMinBytes = 1024;

/** Brotli at a level for answers made on the fly. The default is for files, and ten times slower. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const [compressGzip, compressBrotli] = [promisify(gzip), promisify(brotliCompress)];

/** What messages may be compressed with. Connect's own ones would load its clients, and Node's HTTP/2, at each start. */
export const compressions: Compression[] = [
  createCompression("gzip", (bytes) => compressGzip(bytes), promisify(gunzip)),
  createCompression("br", (bytes) => compressBrotli(bytes, brotliOptions), promisify(brotliDecompress)),
];
const compressionNames = compressions.map(({ name }) => name).join(", ");

function createCompression(
  name: string,
  compress: (bytes: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>,
  decompress: (bytes: Uint8Array, limit: Pick<ZlibOptions, "maxOutputLength">) => Promise<Uint8Array<ArrayBuffer>>,
): Compression {
  return {
    name,
    compress,
    async decompress(bytes, readMaxBytes) {
      if (bytes.length === 0) {
        return new Uint8Array(0);
      }
      try {
        return await decompress(bytes, { maxOutputLength: readMaxBytes });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
          throw new ConnectError(`the decompressed message exceeds ${readMaxBytes} bytes`, Code.ResourceExhausted);
        }
        throw new ConnectError(`the message is not valid ${name}`, Code.InvalidArgument);
      }
    },
  };
}

interface CompressedBody {
  readonly body: Uint8Array;
  readonly name: string;
}

/** Whether a body is too short to be compressed. A UTF-16 code unit takes three bytes at most. */
export function isTooShort(body: string | Uint8Array): boolean {
  return body.length * (typeof body === "string" ? 3 : 1) < compressMinBytes;
}

/** The compression of one call, by its headers. Its methods negotiate it only when they need it. */
export class CallCompression {
  readonly #exchange: Exchange;
  readonly #requested: string | undefined;
  readonly #acceptHeader: Lowercase<string>;

  /**
   * `requested` names the compression of the request, an empty name none. `acceptHeader` is the header that lists what
   * the client accepts.
   */
  constructor(exchange: Exchange, requested: string | undefined, acceptHeader: Lowercase<string>) {
    this.#exchange = exchange;
    this.#requested = requested === "" ? undefined : requested;
    this.#acceptHeader = acceptHeader;
  }

  /** Whether the headers say that the request is not compressed. */
  get isIdentity(): boolean {
    return this.#requested === undefined || this.#requested === "identity";
  }

  /** Throws `unsupported_compression` if the headers name an unknown compression. */
  assertKnown(): void {
    if (!this.isIdentity && !compressions.some(({ name }) => name === this.#requested)) {
      throw this.#unsupported(`Compress the request with one of: ${compressionNames}.`);
    }
  }

  /** For a body of envelopes. Throws `unsupported_compression` if a header says that the body is compressed as a whole. */
  assertBodyUncoded(): void {
    const coding = this.#exchange.header("content-encoding") || "identity";
    if (coding.toLowerCase() !== "identity") {
      throw this.#unsupported("Compress each message, and send no Content-Encoding.");
    }
  }

  /** Throws `unsupported_compression`, `malformed` or `body_too_large`. */
  async decompress(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
    if (this.isIdentity) {
      return bytes;
    }
    this.assertKnown();
    return await decompressWith(this.#negotiate().request as Compression, bytes, maxBytes);
  }

  /** Compresses a large answer if the client accepts a compression. Undefined if the answer is sent uncompressed. */
  async compress(body: string | Uint8Array): Promise<CompressedBody | undefined> {
    const response = Buffer.byteLength(body) < compressMinBytes ? null : this.#negotiate().response;
    if (response === null) {
      return undefined;
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    return { body: await response.compress(bytes), name: response.name };
  }

  #unsupported(message: string): ProtocolError {
    return new ProtocolError("unsupported_compression", message, { [this.#acceptHeader]: compressionNames });
  }

  #negotiate() {
    const accepted = this.#exchange.header(this.#acceptHeader);
    return compressionNegotiate(compressions, this.#requested ?? null, accepted ?? null, this.#acceptHeader);
  }
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
