import { create, type DescMessage, equals, toBinary } from "@bufbuild/protobuf";
import { describe, expect } from "vitest";
import { ProtocolError } from "../../../src/http/protocol-error.ts";
import { binaryCodec } from "../../../src/rpc/codec.ts";
import { closeEnvelope, openEnvelope } from "../../../src/rpc/envelope.ts";
import { ShapeSchema } from "../../gateway/gen/shapes/v1/shapes_pb.ts";
import { operations, samples } from "../../support/operations.ts";
import { fuzz } from "./cases.ts";
import { type Material, mutatedBytes } from "./mutate.ts";
import { expectMalformed, refusalOf } from "./refusal.ts";
import { binaryShapes } from "./samples.ts";
import { byteTokens } from "./tokens.ts";

const requests = samples.map(({ operation, input }) => {
  const desc: DescMessage = operations[operation].input;
  return Buffer.from(toBinary(desc, create(desc, input))).toString("latin1");
});

describe("a message in the binary format", () => {
  const descs = samples.map(({ operation }): DescMessage => operations[operation].input);

  check("of a request", { usual: 2_000, long: 150_000 }, { descs, corpus: [...requests, ...binaryShapes] });
  check("of every shape", { usual: 1_000, long: 60_000 }, { descs: [ShapeSchema], corpus: binaryShapes });

  interface Messages {
    readonly descs: readonly DescMessage[];
    readonly corpus: readonly string[];
  }

  function check(which: string, count: { usual: number; long: number }, { descs: among, corpus }: Messages): void {
    fuzz(`${which} is malformed, or reads back from what is written of it`, count, (random, refused) => {
      const desc = random.pick(among);
      const bytes = mutatedBytes(random, { tokens: byteTokens, corpus });
      const refusal = refusalOf(() => binaryCodec.decode(desc, bytes));
      if (refusal !== undefined) {
        refused();
        expectMalformed(refusal);
        return;
      }
      const message = binaryCodec.decode(desc, bytes);
      const written = binaryCodec.encode(desc, message) as Uint8Array;
      const again = binaryCodec.decode(desc, written);
      if (!equals(desc, again, message)) {
        expect(binaryCodec.encode(desc, again)).toEqual(written);
      }
    });
  }
});

describe("an envelope", () => {
  const maxBytes = 1_000;
  const envelopes = requests.flatMap((message) =>
    [0, 1, 2].map((flags) => Buffer.from(closeEnvelope(Buffer.from(message, "latin1"), flags)).toString("latin1")),
  );
  const material: Material = { tokens: byteTokens, corpus: [...envelopes, "a".repeat(2_000)] };

  fuzz("holds exactly the message that it says, or is refused", { usual: 1_000, long: 60_000 }, (random, refused) => {
    const bytes = mutatedBytes(random, material);
    try {
      const { message, isCompressed } = openEnvelope(bytes, maxBytes);
      expect(Buffer.compare(closeEnvelope(message, isCompressed ? 1 : 0), bytes)).toBe(0);
    } catch (refusal) {
      refused();
      expect(refusal).toBeInstanceOf(ProtocolError);
      expect((refusal as ProtocolError).kind).toMatch(/^(cardinality|malformed|body_too_large)$/);
    }
  });
});
