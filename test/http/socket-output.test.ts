import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { pieceBytes, SocketOutput } from "../../src/http/socket-output.ts";

/** A client that takes what it is given at once while it is fast, and otherwise when it is asked to. */
class Client extends Writable {
  isFast = true;
  #take: (() => void) | undefined;

  override _write(_bytes: Buffer, _encoding: string, taken: () => void): void {
    if (this.isFast) {
      taken();
    } else {
      this.#take = taken;
    }
  }

  take(): void {
    this.#take?.();
  }
}

function connected(): { client: Client; output: SocketOutput } {
  const client = new Client();
  return { client, output: new SocketOutput(client as unknown as Socket) };
}

test("pieces grow to 1 MiB for a client that takes them at once", () => {
  const { output } = connected();
  const sizes = [1, 2, 3, 4].map(() => {
    const size = output.pieceBytes;
    output.writeBytes(new Uint8Array(size));
    return size / pieceBytes;
  });
  expect(sizes).toEqual([1, 2, 4, 4]);
});

test("pieces shrink to 256 KiB for a client that has fallen behind, and to no less", () => {
  const { client, output } = connected();
  for (let i = 0; i < 2; i++) {
    output.writeBytes(new Uint8Array(output.pieceBytes));
  }
  client.isFast = false;
  const sizes = [1, 2, 3, 4].map(() => {
    output.writeBytes(new Uint8Array(output.pieceBytes));
    client.take();
    return output.pieceBytes / pieceBytes;
  });
  expect(sizes).toEqual([2, 1, 1, 1]);
});

test("the end of a body, which is shorter than a piece, makes none larger", () => {
  const { output } = connected();
  output.writeBytes(new Uint8Array(pieceBytes - 1));
  expect(output.pieceBytes).toBe(pieceBytes);
});
