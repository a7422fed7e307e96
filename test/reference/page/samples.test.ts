import { execFile, spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromJson } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCall, keyVariable, type SampleCall } from "../../../src/reference/assets/samples/call.js";
import { writeConnectGet, writeConnectPost } from "../../../src/reference/assets/samples/connect.js";
import { writeCurl } from "../../../src/reference/assets/samples/curl.js";
import { writeGo } from "../../../src/reference/assets/samples/go.js";
import { writeBufCurl, writeGrpcurl } from "../../../src/reference/assets/samples/grpc.js";
import { writePython } from "../../../src/reference/assets/samples/python.js";
import { writeTypeScript } from "../../../src/reference/assets/samples/typescript.js";
import { exceedingSample } from "../../../src/reference/chapters/samples.ts";
import { openApiDocument } from "../../../src/reference/openapi.ts";
import { callableOf, exampleCall, listOperations, type OperationEntry } from "../../../src/reference/operations.ts";
import { apiServices } from "../../../src/server/api.ts";
import { beyondDouble } from "../../support/fixture.ts";
import { createFolder } from "../../support/folder.ts";
import { hasTools, isInstalled, toolCommands } from "../../support/installed.ts";
import { projectRoot } from "../../support/petstore.ts";
import { startServer, type TestServer } from "../../support/server.ts";

const description = openApiDocument({ production: undefined, staging: undefined });
const operations = listOperations(JSON.parse(description), apiServices);
const local = "http://127.0.0.1:8080/v1";

const unary = operations.filter(({ rpc }) => rpc.methodKind === "unary");

/** The cursor of the stock as it is. */
async function headCursor(): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${server.origin}/v1/inventory?pageSize=1`, { headers });
  return response.headers.get("x-inventory-cursor") ?? "";
}

function entryOf(operationId: string): OperationEntry {
  return operations.find(({ operation }) => operation.operationId === operationId) as OperationEntry;
}

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  key = (await server.store.mintKey()).key;
});

afterAll(() => server?.stop());

/**
 * How long a sample may take. The first one in Go compiles the standard library, which takes a minute.
 */
const sampleTimeoutMs = 180_000;

/** How to run a sample of each language, as readers would. */
interface Language {
  readonly name: string;
  readonly write: (call: SampleCall) => string;
  readonly program: string;
  readonly file: string;
  readonly args: readonly string[];
  /** Runs samples one after the other, at less cost than as readers would. Each promise is that of one's output. */
  readonly runAll?: (language: Language, codes: readonly string[]) => Promise<Promise<string>[]>;
  /** The operations of which a sample is called: all by default. */
  readonly called?: readonly string[];
}

const modules = join(projectRoot, "node_modules");

/**
 * Each starts a program that takes long to start. These differ in what the command has: no message, one with a field of
 * its own, one of several levels, and one that names a hold. Each message is held to its method below.
 */
const calledByCommand = ["getLimits", "getPet", "updateInventory", "batchUpdateInventory", "commitHold"];

const languages: readonly Language[] = [
  { name: "curl", write: writeCurl, program: "sh", file: "sample.sh", args: [] },
  {
    name: "TypeScript",
    write: writeTypeScript,
    program: process.execPath,
    file: "sample.mts",
    args: [],
    runAll: runInOne,
  },
  { name: "Python", write: writePython, program: "python3", file: "sample.py", args: [], runAll: runInOne },
  { name: "Go", write: writeGo, program: "go", file: "sample.go", args: ["run"], runAll: runBuilt },
  { name: "grpcurl", write: writeGrpcurl, program: "sh", file: "sample.sh", args: [], called: calledByCommand },
  { name: "buf curl", write: writeBufCurl, program: "sh", file: "sample.sh", args: [], called: calledByCommand },
];

/** What a language needs in addition to its program. */
const needs: Readonly<Record<string, boolean>> = {
  grpcurl: isInstalled("grpcurl"),
  "buf curl": hasTools,
};

/** A folder in which programs find the packages that they need. */
function createPlace(): string {
  const folder = createFolder();
  symlinkSync(modules, join(folder, "node_modules"));
  return folder;
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${toolCommands}:${process.env.PATH}`, [keyVariable]: key };
}

function prepare({ program, file, args }: Language, code: string) {
  const path = join(createPlace(), file);
  writeFileSync(path, code);
  return { program, args: [...args, path], env: environment() };
}

async function run(language: Language, code: string): Promise<string> {
  const { program, args, env } = prepare(language, code);
  return (await promisify(execFile)(program, args, { env })).stdout;
}

/** Begins one after the other has ended, whether that has failed or not. */
async function inTurn(runs: readonly (() => Promise<string>)[]): Promise<Promise<string>[]> {
  const outputs: Promise<string>[] = [];
  for (const begin of runs) {
    const output = begin();
    outputs.push(output);
    await output.catch(() => {});
  }
  return outputs;
}

function runEach(language: Language, codes: readonly string[]): Promise<Promise<string>[]> {
  return inTurn(codes.map((code) => () => run(language, code)));
}

const begun = "--- the next sample ---";
const failed = "--- the sample has failed ---";

/** How long a process may run samples before one counts as hanging. What Go builds is built before. */
const runTimeoutMs = 60_000;

/** Programs that run those that their arguments name. */
const runners: Readonly<Record<string, string>> = {
  "sample.mts": `for (const file of process.argv.slice(2)) {
    console.log("${begun}");
    await import(file).catch((error: unknown) => console.log("${failed}", error));
  }`,
  "sample.py": [
    "import runpy, sys, traceback",
    "for file in sys.argv[1:]:",
    `    print("${begun}", flush=True)`,
    "    try:",
    '        runpy.run_path(file, run_name="__main__")',
    "    except BaseException:",
    `        print("${failed}", traceback.format_exc())`,
  ].join("\n"),
};

/** Runs samples in one process, which loads the packages once. */
async function runInOne({ program, file }: Language, codes: readonly string[]): Promise<Promise<string>[]> {
  const folder = createPlace();
  const runner = join(folder, file);
  writeFileSync(runner, runners[file] as string);
  const files = codes.map((code, index) => {
    const path = join(folder, `${index}-${file}`);
    writeFileSync(path, code);
    return path;
  });
  const options = { env: environment(), timeout: runTimeoutMs };
  const { stdout } = await promisify(execFile)(program, [runner, ...files], options).catch((error) => {
    const last = codes[error.stdout.split(begun).length - 2];
    throw new Error(`the samples have not run to their end; the last one begun: ${last}`, { cause: error });
  });
  const outputs = stdout.split(begun).slice(1);
  return inTurn(
    outputs.map((output) => async () => {
      if (output.includes(failed)) {
        throw new Error(output);
      }
      return output;
    }),
  );
}

/** Builds one program of samples in Go, each in a package of its own, and runs it for each. */
async function runBuilt(_language: Language, codes: readonly string[]): Promise<Promise<string>[]> {
  const folder = createPlace();
  const names = codes.map((_, index) => `sample${index}`);
  codes.forEach((code, index) => {
    const name = names[index] as string;
    mkdirSync(join(folder, name));
    const asPackage = code.replace("package main", `package ${name}`).replace("func main()", "func Main()");
    writeFileSync(join(folder, name, "sample.go"), asPackage);
  });
  const imports = names.map((name) => `import "samples/${name}"`).join("\n");
  const mains = names.map((name) => `"${name}": ${name}.Main`).join(", ");
  const main = `func main() { map[string]func(){${mains}}[os.Args[1]]() }`;
  writeFileSync(join(folder, "main.go"), `package main\nimport "os"\n${imports}\n${main}\n`);
  writeFileSync(join(folder, "go.mod"), "module samples\n");
  const built = join(folder, "samples");
  const execute = promisify(execFile);
  await execute("go", ["build", "-o", built, "."], { cwd: folder });
  const options = { env: environment(), timeout: runTimeoutMs };
  return inTurn(names.map((name) => async () => (await execute(built, [name], options)).stdout));
}

/** Runs a sample that does not end by itself, until it has printed what is expected. Throws when it ends before. */
async function runUntil(language: Language, code: string, isEnough: (output: string) => boolean): Promise<string> {
  const { program, args, env } = prepare(language, code);
  // In a group of its own, as some programs start others.
  const child = spawn(program, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  try {
    for await (const text of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
      output += text;
      if (isEnough(output)) {
        return output;
      }
    }
    throw new Error(`the sample ended: ${output} ${errors}`);
  } finally {
    if (child.pid !== undefined && child.exitCode === null) {
      process.kill(-child.pid, "SIGKILL");
    }
  }
}

/** Sets the stock of a pet. */
async function set(petId: bigint, quantity: number): Promise<void> {
  const response = await fetch(`${server.origin}/v1/inventory/${petId}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: `{"quantity": ${quantity}}`,
  });
  expect(response.status).toBe(200);
}

/** A call that names a hold, of one that there is. */
async function ready(call: SampleCall): Promise<SampleCall> {
  const example = "hold_V1StGXR8Z5jdHi6B";
  if (!call.url.includes(example)) {
    return call;
  }
  const response = await fetch(`${server.origin}/v1/holds`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: `{"petId": ${beyondDouble}, "quantity": 1, "ttl": "3600s"}`,
  });
  expect(response.status).toBe(201);
  const { holdId } = (await response.json()) as { holdId: string };
  return JSON.parse(JSON.stringify(call).replaceAll(example, holdId)) as SampleCall;
}

/** The content of the answers. RPCs have other names for enum values. */
const told: Readonly<Record<string, RegExp>> = {
  listInventory: /9223372036854775807/,
  updateInventory: /12/,
  getInventory: /12/,
  getAvailability: /available/i,
  adjustInventory: /quantity/i,
  batchUpdateInventory: /item/i,
  listStockChanges: /cursor/i,
  listStockChangesByPet: /cursor/i,
  createHold: /hold_[\w-]{16}/,
  listHolds: /hold_[\w-]{16}/,
  getHold: /hold_[\w-]{16}/,
  commitHold: /COMMITTED|committed|state: 2/,
  releaseHold: /RELEASED|released|state: 3/,
  getLimits: /business|BUSINESS|plan: 3/,
  getPet: /Zoë 犬/,
  listOrders: /9223372036854775806/,
};

/** What is told of each call that `enteredCalls` has. */
const kept: Readonly<Record<string, RegExp>> = {
  "a hold": /it's/,
  "a list": /-9223372036854775808/,
  "an update": new RegExp(`${beyondDouble}`),
};

/** Calls of which all that is entered has characters that a language may take for its own. */
function* enteredCalls(): Generator<[string, SampleCall]> {
  const hold = {
    values: { "Idempotency-Key": ["it's"] },
    body: '{"petId": 2, "quantity": 1, "ttl": "1.5s", "reference": "it\'s"}',
  };
  yield ["a hold", createCall(callableOf(entryOf("createHold")), hold, `${server.origin}/v1`)];
  const values = { pageSize: ["2"], status: ["available", "sold"], "If-None-Match": ['"it\'s\\`"'] };
  yield ["a list", createCall(callableOf(entryOf("listInventory")), { values }, `${server.origin}/v1`)];
  const update = {
    values: { petId: [`${beyondDouble}`] },
    body: `{"quantity": ${beyondDouble}, "it's": "\\\\\`\\u0000"}`,
  };
  yield ["an update", createCall(callableOf(entryOf("updateInventory")), update, `${server.origin}/v1`)];
}

/** Runs the samples of a language. */
async function callAll(language: Language, entries: readonly OperationEntry[]) {
  const calls = new Map(enteredCalls());
  for (const entry of entries) {
    calls.set(entry.operation.operationId, await ready(exampleCall(entry, `${server.origin}/v1`)));
  }
  const runAll = language.runAll ?? runEach;
  const outputs = await runAll(language, [...calls.values()].map(language.write));
  return new Map([...calls.keys()].map((name, index) => [name, outputs[index] as Promise<string>]));
}

describe("the code samples", () => {
  for (const language of languages) {
    const isMissing = !isInstalled(language.program) || needs[language.name] === false;
    describe.skipIf(isMissing)(`in ${language.name}`, () => {
      const called = unary.filter(({ operation }) => language.called?.includes(operation.operationId) ?? true);
      let outputs: Promise<ReadonlyMap<string, Promise<string>>> | undefined;

      /** The output of a call's sample. Whoever asks first has all of them run. */
      async function outputOf(name: string): Promise<string | undefined> {
        outputs ??= callAll(language, called);
        return (await outputs).get(name);
      }

      it.each(called.map(({ operation }) => operation.operationId))(
        "call %s",
        { timeout: sampleTimeoutMs },
        async (id) => {
          expect(await outputOf(id)).toMatch(told[id] as RegExp);
        },
      );

      it.runIf(language.runAll)("run by themselves", { timeout: sampleTimeoutMs }, async () => {
        const call = exampleCall(entryOf("updateInventory"), `${server.origin}/v1`);
        expect(await run(language, language.write(call))).toMatch(told.updateInventory as RegExp);
      });

      it("watch the changes that the parameters select, as they are made", { timeout: sampleTimeoutMs }, async () => {
        const entered = { petId: [`${beyondDouble}`], crossing: ["500"], "Last-Event-ID": [await headCursor()] };
        const watch = createCall(callableOf(entryOf("watchStockChanges")), { values: entered }, `${server.origin}/v1`);
        await set(beyondDouble, 900);
        await set(7n, 900);
        await set(7n, 499);
        await set(beyondDouble, 498);
        let isFurther = false;
        const output = await runUntil(language, language.write(watch), (text) => {
          if (text.includes("498") && !isFurther) {
            isFurther = true;
            void set(beyondDouble, 901).then(() => set(beyondDouble, 497));
          }
          return text.includes("497");
        });
        expect(output).toContain(`${beyondDouble}`);
        expect(output).not.toMatch(/\b(499|901)\b.*\b(499|901)\b/s);
      });

      it.each(Object.entries(kept))(
        "keep what is entered, whatever it is: %s",
        { timeout: sampleTimeoutMs },
        async (name, what) => {
          expect(await outputOf(name)).toMatch(what);
        },
      );
    });
  }

  it("of Connect call by POST and by GET", async () => {
    const [update, list] = ["updateInventory", "listInventory"].map((id) =>
      exampleCall(entryOf(id), `${server.origin}/v1`),
    );
    const env = { ...process.env, [keyVariable]: key };
    for (const code of [writeConnectPost(update as SampleCall), writeConnectGet(list as SampleCall)]) {
      expect((await promisify(execFile)("sh", ["-c", code], { env })).stdout).toContain('"petId":"7"');
    }
  });

  it("of a 429 has one answer more than the limit allows", async () => {
    const { key: small } = await server.store.mintQuota(3, 1_000);
    const env = { ...process.env, [keyVariable]: small };
    const code = exceedingSample(exampleCall(entryOf("listInventory"), `${server.origin}/v1`), 3);
    const { stdout } = await promisify(execFile)("sh", ["-c", code], { env });
    expect(stdout.trim().split(/\s+/)).toEqual(["3", "200", "1", "429"]);
  });

  it("of RPCs have messages that their methods take", () => {
    for (const entry of operations) {
      const { message, rpc } = exampleCall(entry, local);
      expect(() => fromJson(entry.rpc.input, JSON.parse(message.json))).not.toThrow();
      expect(rpc).toBe(`${entry.rpc.parent.typeName}/${entry.rpc.name}`);
    }
  });

  it("in Go escape the byte order mark, which Go refuses", () => {
    const input = { values: { petId: ["7"] }, body: '{"quantity": 1, "x": "\ufeff"}' };
    const code = writeGo(createCall(callableOf(entryOf("updateInventory")), input, local));
    expect(code).toContain(String.raw`strings.NewReader("{\"quantity\": 1, \"x\": \"\ufeff\"}")`);
  });

  it("have JSON on one line", () => {
    const { body, message } = exampleCall(entryOf("updateInventory"), local);
    expect([body, message.json]).toEqual(['{"quantity": 12}', '{"petId": 7, "update": {"quantity": 12}}']);
  });

  it.each([
    [local, "grpcurl -plaintext", "  127.0.0.1:8080 petstore.v1.InventoryService/UpdateInventory"],
    ["http://pets.example/v1", "grpcurl -plaintext", "  pets.example:80 petstore.v1.InventoryService/UpdateInventory"],
    ["https://pets.example/v1", "grpcurl", "  pets.example:443 petstore.v1.InventoryService/UpdateInventory"],
  ])("for grpcurl have the port of %s", (baseUrl, first, last) => {
    const lines = writeGrpcurl(exampleCall(entryOf("updateInventory"), baseUrl)).split(" \\\n");
    expect([lines.at(0), lines.at(-1)]).toEqual([first, last]);
  });
});

describe("the message of a sample", () => {
  const update = (petId: string, body: string) =>
    createCall(callableOf(entryOf("updateInventory")), { values: { petId: [petId] }, body }, local).message;

  it.each([
    ["7", '{"quantity": 3e0}', "{ petId: 7n, update: { quantity: 3n } }", '{"petId": 7, "update": {"quantity": 3}}'],
    [
      "-5",
      '{"quantity": -30e-1, "x": [1]}',
      "{ petId: -5n, update: { quantity: -3n } }",
      '{"petId": -5, "update": {"quantity": -3}}',
    ],
    ["7", "{}", "{ petId: 7n, update: {} }", '{"petId": 7, "update": {}}'],
  ])("has exact integers: %s, %s", (petId, body, typescript, json) => {
    expect(update(petId, body)).toMatchObject({ typescript, json });
  });

  it.each([
    ["seven", "{}", "petId is no integer."],
    ["7", "{", "The body is not JSON."],
    ["7", "[]", "update is no object."],
    ["7", "3", "update is no object."],
    ["7", '{"quantity": 3.5}', "quantity is no integer."],
    ["7", '{"quantity": "3"}', "quantity is no integer."],
  ])("says why there is none: %s, %s", (petId, body, fault) => {
    expect(update(petId, body).fault).toBe(fault);
    const call = createCall(callableOf(entryOf("updateInventory")), { values: { petId: [petId] }, body }, local);
    expect([writeTypeScript(call), writeGrpcurl(call), writeBufCurl(call)]).toEqual([
      `// ${fault}`,
      `# ${fault}`,
      `# ${fault}`,
    ]);
  });

  it("has the header that carries a field as that field", () => {
    const input = { values: { petId: ["7"], "If-Match": ['"17"'], "Idempotency-Key": ["k"] }, body: '{"quantity": 3}' };
    const call = createCall(callableOf(entryOf("updateInventory")), input, local);
    expect(call.message.typescript).toBe('{ petId: 7n, etag: "\\"17\\"", update: { quantity: 3n } }');
    expect([call.headers, call.metadata]).toEqual([
      [
        ["If-Match", '"17"'],
        ["Idempotency-Key", "k"],
      ],
      [["Idempotency-Key", "k"]],
    ]);
    expect(writeGrpcurl(call)).toContain("-H 'Idempotency-Key: k'");
    expect(writeTypeScript(call)).toContain(', { headers: { "Idempotency-Key": "k" } });');
  });

  it.each([
    ['{"petId": 7, "quantity": 1, "ttl": "900s"}', "{ petId: 7n, quantity: 1n, ttl: { seconds: 900n } }"],
    ['{"petId": 7, "ttl": "1.5s"}', "{ petId: 7n, ttl: { seconds: 1n, nanos: 500000000 } }"],
    ["", "{}"],
  ])("is the whole body: %s", (body, typescript) => {
    const call = createCall(callableOf(entryOf("createHold")), { values: {}, body }, local);
    expect(call.message).toMatchObject({ typescript });
  });

  it.each([
    ['{"ttl": 900}', 'ttl is no duration, such as "900s".'],
    ['{"ttl": "900"}', 'ttl is no duration, such as "900s".'],
    ["[]", "The body is no object."],
  ])("says what is wrong with the whole body: %s", (body, fault) => {
    expect(createCall(callableOf(entryOf("createHold")), { values: {}, body }, local).message).toMatchObject({ fault });
  });

  it("of a stream goes on after the last event, whatever the query says", () => {
    const values = { after: ["from-query"], petId: ["7"], "Last-Event-ID": ["from-header"] };
    const call = createCall(callableOf(entryOf("watchStockChanges")), { values }, local);
    expect(call.message.json).toBe('{"after": "from-header", "petId": [7]}');
    expect(writeTypeScript(call)).toContain(
      'for await (const change of petstore.watchStockChanges({ after: "from-header", petId: [7n] })) {',
    );
    expect(writeCurl(call)).toContain(`curl -N '${local}/inventory/changes:watch?after=from-query&petId=7'`);
    expect(writeCurl(call)).toContain("-H 'Last-Event-ID: from-header'");
    for (const code of [writePython(call), writeGo(call)]) {
      expect(code).toContain("application/x-ndjson");
    }
  });

  it("has booleans of the query as such", () => {
    const input = { values: { newestFirst: ["true"], petId: ["7", "8"], crossing: ["-1"] } };
    expect(createCall(callableOf(entryOf("listStockChanges")), input, local).message).toMatchObject({
      json: '{"petId": [7, 8], "crossing": -1, "newestFirst": true}',
    });
  });

  it("names the enums that it needs", () => {
    const input = { values: { status: ["sold", "available"], pageToken: ["a'b"] } };
    expect(createCall(callableOf(entryOf("listInventory")), input, local).message).toEqual({
      typescript: `{ pageToken: "a'b", status: [PetStatus.SOLD, PetStatus.AVAILABLE] }`,
      json: `{"pageToken": "a'b", "status": ["PET_STATUS_SOLD", "PET_STATUS_AVAILABLE"]}`,
      enums: ["PetStatus"],
    });
  });
});

describe("the path of a sample", () => {
  it.each([
    ["", "/inventory/{petId}", "petId is needed: it is part of the path."],
    [".", "/inventory/{petId}", "petId must not be . or ..: the browser would send another path."],
    ["..", "/inventory/{petId}", "petId must not be . or ..: the browser would send another path."],
    ["...", "/inventory/...", undefined],
    ["a/é", "/inventory/a%2F%C3%A9", undefined],
    ["\ud83d", "/inventory/%EF%BF%BD", undefined],
  ])("for petId %j is %s, and its fault %s", (petId, path, message) => {
    const { url, pathFault } = createCall(callableOf(entryOf("getInventory")), { values: { petId: [petId] } }, local);
    expect(url).toBe(local + path);
    expect(pathFault).toEqual(message === undefined ? undefined : { name: "petId", message });
  });
});
