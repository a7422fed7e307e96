import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { pieceBytes, SocketOutput } from "../../src/http/socket-output.ts";

const nextTick = promisify((done: () => void) => process.nextTick(done));

/** A client that takes what it is given at once while it is fast, and otherwise when it is asked to. */
class Client extends Writable {
  isFast = true;
  readonly given: Buffer[] = [];
  #take: (() => void) | undefined;

  override _write(bytes: Buffer, _encoding: string, taken: () => void): void {
    this.given.push(Buffer.from(bytes));
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

/** An output that shows how much memory it takes. */
class ObservedOutput extends SocketOutput {
  get capacity(): number {
    return this.bytes.length;
  }
}

function connected(): { client: Client; output: ObservedOutput } {
  const client = new Client();
  return { client, output: new ObservedOutput(client as unknown as Socket) };
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

test("what waits for a slow client takes at most twice its size, and arrives in order", async () => {
  const { client, output } = connected();
  client.isFast = false;
  output.writeBytes(new Uint8Array(pieceBytes));
  expect(output.isCongested).toBe(true);
  for (const [text, size] of [
    ["a few bytes", 11],
    [" and a few more", 26],
  ] as const) {
    output.writeLatin1(text);
    output.schedule();
    await nextTick();
    expect(output.capacity).toBeLessThanOrEqual(2 * size);
  }
  // The buffer that the first bytes were written to belongs to another connection now.
  const other = connected();
  other.output.writeLatin1("bytes of another");
  other.output.schedule();
  await nextTick();
  client.isFast = true;
  client.take();
  await nextTick();
  expect(client.given.slice(1).join("")).toBe("a few bytes and a few more");
  expect(other.client.given.join("")).toBe("bytes of another");
});
