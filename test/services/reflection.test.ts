import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { reflectionService } from "../../src/services/reflection.ts";

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

it("encodes a file once, however often and by whatever name it is asked for", async () => {
  const [first = [], second = [], third = []] = await ask(
    { case: "fileContainingSymbol", value: "petstore.v1.InventoryService" },
    { case: "fileContainingSymbol", value: "petstore.v1.InventoryService" },
    { case: "fileByFilename", value: "petstore/v1/inventory_service.proto" },
  );
  expect(first.length).toBeGreaterThan(1);
  for (const [index, bytes] of first.entries()) {
    expect(second[index]).toBe(bytes);
    expect(third[index]).toBe(bytes);
  }
});
