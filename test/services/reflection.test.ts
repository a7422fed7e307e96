import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { reflectionService } from "../../src/services/grpc-tools.ts";

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;

const service = reflectionService([InventoryService]);

/** The encoded files of each answer. */
async function ask(...questions: readonly Question[]): Promise<Uint8Array[][]> {
  async function* requests() {
    for (const messageRequest of questions) {
      yield create(ServerReflectionRequestSchema, { messageRequest });
    }
  }
  const answers: Uint8Array[][] = [];
  for await (const { messageResponse } of service.serverReflectionInfo(requests(), {} as never)) {
    answers.push(
      messageResponse?.case === "fileDescriptorResponse" ? (messageResponse.value.fileDescriptorProto ?? []) : [],
    );
  }
  return answers;
}

const byFile: Question = { case: "fileByFilename", value: "petstore/v1/inventory_service.proto" };
const bySymbol: Question = { case: "fileContainingSymbol", value: "petstore.v1.InventoryService" };

it("encodes a file once, however often and by whatever name it is asked for", async () => {
  const [first = []] = await ask(bySymbol);
  const [second = []] = await ask(byFile);
  expect(first.length).toBeGreaterThan(1);
  for (const [index, bytes] of first.entries()) {
    expect(second[index]).toBe(bytes);
  }
});

it("sends the imports of a file once on a stream, and the file itself whenever it is asked for", async () => {
  const [first = [], ...others] = await ask(bySymbol, bySymbol, byFile);
  expect(first.length).toBeGreaterThan(1);
  expect(others).toEqual([[first[0]], [first[0]]]);
});

it("ends a stream that asks for more than 200 answers", async () => {
  const question: Question = { case: "listServices", value: "" };
  expect(await ask(...Array<Question>(200).fill(question))).toHaveLength(200);
  await expect(ask(...Array<Question>(201).fill(question))).rejects.toMatchObject({ code: Code.ResourceExhausted });
});
