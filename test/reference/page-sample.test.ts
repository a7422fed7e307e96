import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exceedingSample } from "../../src/reference/exceeding-sample.ts";
import { openApiDocument } from "../../src/reference/openapi.ts";
import { listOperations, type OperationEntry } from "../../src/reference/operation-entry.ts";
import { sampleCall } from "../../src/reference/operation-sample.ts";
import { connectSamples } from "../../src/reference/rpc-sample.ts";
import { keyVariable, type SampleCall } from "../../src/reference/samples/call.ts";
import { writeCurl } from "../../src/reference/samples/curl.ts";
import { writeGo } from "../../src/reference/samples/go.ts";
import { writeGrpcurl } from "../../src/reference/samples/grpcurl.ts";
import { writePython } from "../../src/reference/samples/python.ts";
import { writeTypeScript } from "../../src/reference/samples/typescript.ts";
import { apiServices } from "../../src/server/api.ts";
import { createFolder } from "../support/folder.ts";
import { isInstalled } from "../support/installed.ts";
import { startServer, type TestServer } from "../support/server.ts";

const description = openApiDocument({ production: undefined, staging: undefined });
const operations = listOperations(JSON.parse(description), apiServices);
const updateInventory = operations.find(({ operation }) => operation.operationId === "updateInventory");

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  key = (await server.store.mintKey()).key;
});

afterAll(() => server?.stop());

/**
 * How long a sample may take: the first one in Go compiles the packages that come with Go, which is a minute's work.
 */
const sampleTimeoutMs = 180_000;

/** How each language runs a sample, as its readers would. */
const languages = [
  { name: "curl", write: writeCurl, program: "sh", file: "sample.sh", args: [] },
  { name: "TypeScript", write: writeTypeScript, program: process.execPath, file: "sample.mts", args: [] },
  { name: "Python", write: writePython, program: "python3", file: "sample.py", args: [] },
  { name: "Go", write: writeGo, program: "go", file: "sample.go", args: ["run"] },
] as const;

/** What stands in the answers that have no pending pet. */
const told: Readonly<Record<string, string>> = { listOrders: "shipDate", getLimits: "business" };

async function runSample({ write, program, file, args }: (typeof languages)[number], entry: OperationEntry) {
  const path = join(createFolder(), file);
  writeFileSync(path, write(sampleCall(entry, `${server.origin}/v1`)));
  const env = { ...process.env, [keyVariable]: key };
  return (await promisify(execFile)(program, [...args, path], { env })).stdout;
}

function callOf(operationId: string): SampleCall {
  const entry = operations.find(({ operation }) => operation.operationId === operationId);
  return sampleCall(entry as OperationEntry, `${server.origin}/v1`);
}

describe("the code samples", () => {
  for (const language of languages) {
    describe.skipIf(!isInstalled(language.program))(`in ${language.name}`, () => {
      it.each(operations.map((entry) => [entry.operation.operationId, entry] as const))(
        "call %s",
        { timeout: sampleTimeoutMs },
        async (id, entry) => {
          expect(await runSample(language, entry)).toContain(told[id] ?? "pending");
        },
      );
    });
  }

  it("of Connect call by POST and by GET", async () => {
    const [update, list] = ["updateInventory", "listInventory"].map(callOf);
    const env = { ...process.env, [keyVariable]: key };
    for (const { code } of connectSamples(update as SampleCall, list as SampleCall)) {
      expect((await promisify(execFile)("sh", ["-c", code], { env })).stdout).toContain('"petId":"7"');
    }
  });

  it("of a 429 has one answer more than the limit allows", async () => {
    const { key: small } = await server.store.mintQuota(3, 1_000);
    const env = { ...process.env, [keyVariable]: small };
    const { stdout } = await promisify(execFile)("sh", ["-c", exceedingSample(callOf("listInventory"), 3)], { env });
    expect(stdout.trim().split(/\s+/)).toEqual(["3", "200", "1", "429"]);
  });

  it("for grpcurl have messages that their methods take", () => {
    for (const entry of operations) {
      const { message, rpc } = sampleCall(entry, "http://127.0.0.1:8080/v1");
      expect(() => fromJson(entry.rpc.input, JSON.parse(message))).not.toThrow();
      expect(rpc).toBe(`${entry.rpc.parent.typeName}/${entry.rpc.name}`);
    }
  });

  it("have JSON on one line", () => {
    const { body, message } = sampleCall(updateInventory as OperationEntry, "http://127.0.0.1:8080/v1");
    expect([body, message]).toEqual(['{"quantity": 12}', '{"petId": 7, "update": {"quantity": 12}}']);
  });

  it.each([
    ['{"quantity": 12}', "{ quantity: 12 }"],
    ['{"a-b": [{}, {"c": null}], "d": "e"}', '{ "a-b": [{}, { c: null }], d: "e" }'],
  ])("in TypeScript have objects as people write them: %s", (body, literal) => {
    const call = { ...sampleCall(updateInventory as OperationEntry, "http://127.0.0.1:8080/v1"), body };
    expect(writeTypeScript(call)).toContain(`  body: JSON.stringify(${literal}),\n`);
  });

  it.each([
    ["http://127.0.0.1:8080/v1", "grpcurl -plaintext", "  127.0.0.1:8080 petstore.v1.InventoryService/UpdateInventory"],
    ["http://pets.example/v1", "grpcurl -plaintext", "  pets.example:80 petstore.v1.InventoryService/UpdateInventory"],
    ["https://pets.example/v1", "grpcurl", "  pets.example:443 petstore.v1.InventoryService/UpdateInventory"],
  ])("for grpcurl have the port of %s", (baseUrl, first, last) => {
    const lines = writeGrpcurl(sampleCall(updateInventory as OperationEntry, baseUrl)).split(" \\\n");
    expect([lines.at(0), lines.at(-1)]).toEqual([first, last]);
  });
});
