import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { Inspector } from "./inspector.ts";

/** What runs on the serving thread for one update over REST, once everything is warm. */
export interface RequestTrace {
  /** A constructor and the initializer of its fields, which V8 has as two functions, count once. */
  readonly functions: number;
  readonly files: number;
  /** How many times the way returns to a file that it has left before. */
  readonly returns: number;
  /** The files in the order in which they are entered. */
  readonly way: readonly Visit[];
}

/** The functions that run in one file before the way leaves it, in the order in which they are entered. */
export interface Visit {
  readonly file: string;
  /** `(anonymous)` for a function without a name. */
  readonly names: string[];
}

interface Coverage {
  readonly result: readonly {
    readonly scriptId: string;
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
    }[];
  }[];
}

interface EnteredFunction {
  readonly scriptId: string;
  readonly file: string;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const warmUpCalls = 300;

/** How many updates are compared. A timer may fire during some of them, but not during all. */
const comparedCalls = 8;

/** How many updates are recorded for the way. The one with the fewest returns is kept: no timer has fired during it. */
const recordedCalls = 6;

/** How much later each recorded update comes, in milliseconds, so that timers at regular intervals miss some of them. */
const shiftMs = 40;

/** How long to wait for what follows an answer, such as the metrics, in milliseconds: it still belongs to that call. */
const afterAnswerMs = 100;

/** Starts a server of a checkout, sends it updates, and has V8 tell what the last ones run. */
export async function traceUpdate(root: string): Promise<RequestTrace> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-structure-"));
  try {
    await using server = await startServer(root, folder);
    const { update, inspector } = server;
    for (let call = 0; call < warmUpCalls; call++) {
      await update(call);
    }
    const covered = await coverUpdate(root, inspector, () => update(-1));
    await inspector.send("Debugger.enable");
    const texts = await readTexts(covered, inspector);
    const functions = joinConstructors(covered, texts);
    const way = await orderOf(functions, texts, inspector, () => update(-2));
    return {
      functions: functions.length,
      files: new Set(functions.map(({ file }) => file)).size,
      returns: returnsOf(way),
      way,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** How many times a way returns to a file that it has left before. */
function returnsOf(way: readonly Visit[]): number {
  return way.filter(({ file }, index) => way.findIndex((visit) => visit.file === file) < index).length;
}

/** The functions of `src` that every update runs. */
async function coverUpdate(
  root: string,
  inspector: Inspector,
  update: () => Promise<void>,
): Promise<EnteredFunction[]> {
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await update();
  await setTimeout(afterAnswerMs);
  await inspector.send("Profiler.takePreciseCoverage");
  const prefix = new URL(`file://${join(root, "src")}/`).href;
  let common: Map<string, EnteredFunction> | undefined;
  for (let call = 0; call < comparedCalls; call++) {
    await update();
    await setTimeout(afterAnswerMs);
    const entered = enteredFunctions((await inspector.send("Profiler.takePreciseCoverage")) as Coverage, prefix);
    common = common === undefined ? entered : new Map([...common].filter(([id]) => entered.has(id)));
  }
  await inspector.send("Profiler.stopPreciseCoverage");
  return [...(common ?? []).values()];
}

/** By file and place. `prefix` is the URL of the source's folder. */
function enteredFunctions({ result }: Coverage, prefix: string): Map<string, EnteredFunction> {
  const entered = result
    .filter(({ url }) => url.startsWith(prefix))
    .flatMap(({ scriptId, url, functions }) =>
      functions
        .map(({ functionName, ranges: [range] }) => ({ functionName, range }))
        .filter(({ range }) => range !== undefined && range.count > 0)
        .map(({ functionName, range }) => ({
          scriptId,
          file: url.slice(prefix.length),
          name: functionName || "(anonymous)",
          start: range?.startOffset ?? 0,
          end: range?.endOffset ?? 0,
        })),
    );
  return new Map(entered.map((fn) => [`${fn.file}:${fn.start}`, fn]));
}

/** The sources of scripts by their ids, as they run: without their types. */
type Texts = ReadonlyMap<string, string>;

async function readTexts(functions: readonly EnteredFunction[], inspector: Inspector): Promise<Texts> {
  const texts = new Map<string, string>();
  for (const scriptId of new Set(functions.map((fn) => fn.scriptId))) {
    const { scriptSource } = (await inspector.send("Debugger.getScriptSource", { scriptId })) as Record<string, string>;
    texts.set(scriptId, scriptSource ?? "");
  }
  return texts;
}

/**
 * Counts each constructor and the initializer of its fields, which V8 has as two functions, as one. It keeps the place
 * of the initializer, which runs first, and the name of the constructor.
 */
function joinConstructors(functions: readonly EnteredFunction[], texts: Texts): EnteredFunction[] {
  const constructors = functions.filter((fn) => isConstructor(fn, texts));
  const constructorOf = (fn: EnteredFunction) =>
    fn.name === "<instance_members_initializer>"
      ? constructors.find((each) => isOfSameClass(each, fn, texts))
      : undefined;
  const joined = new Set(functions.map(constructorOf));
  return functions.filter((fn) => !joined.has(fn)).map((fn) => ({ ...fn, name: constructorOf(fn)?.name ?? fn.name }));
}

function isConstructor({ scriptId, start }: EnteredFunction, texts: Texts): boolean {
  return texts.get(scriptId)?.startsWith("constructor", start) === true;
}

/** Whether no class begins between two functions of a script. */
function isOfSameClass(one: EnteredFunction, other: EnteredFunction, texts: Texts): boolean {
  const [from, to] = [Math.min(one.start, other.start), Math.max(one.start, other.start)];
  const between = texts.get(one.scriptId)?.slice(from, to) ?? "";
  return one.scriptId === other.scriptId && !/^(export )?(abstract )?class /m.test(between);
}

/**
 * Returns the order in which functions are entered, in the update with the fewest returns. It sets a breakpoint in each
 * function; the breakpoint's condition notes that the function is entered, and is false, so that nothing pauses.
 */
async function orderOf(
  functions: readonly EnteredFunction[],
  texts: Texts,
  inspector: Inspector,
  update: () => Promise<void>,
): Promise<Visit[]> {
  for (const [index, fn] of functions.entries()) {
    const location = await entryOf(fn, texts, inspector);
    const condition = `(globalThis.enteredFunctions ??= []).push(${index}), false`;
    if (location !== undefined) {
      await inspector.send("Debugger.setBreakpoint", { location, condition });
    }
  }
  await update();
  const ways: Visit[][] = [];
  for (let call = 0; call < recordedCalls; call++) {
    await setTimeout(afterAnswerMs + call * shiftMs);
    await inspector.evaluate("globalThis.enteredFunctions = []");
    await update();
    await setTimeout(afterAnswerMs);
    const entered = JSON.parse((await inspector.evaluate("JSON.stringify(globalThis.enteredFunctions)")) as string);
    ways.push(wayOf((entered as number[]).map((index) => functions[index] as EnteredFunction)));
  }
  const [way = []] = ways.sort((one, other) => returnsOf(one) - returnsOf(other));
  return way;
}

function wayOf(entered: readonly EnteredFunction[]): Visit[] {
  const way: Visit[] = [];
  for (const { file, name } of entered) {
    const visit = way.at(-1);
    if (visit?.file === file) {
      visit.names.push(name);
    } else {
      way.push({ file, names: [name] });
    }
  }
  return way;
}

interface Location {
  readonly lineNumber: number;
  readonly columnNumber: number;
  readonly type?: string;
}

/**
 * Where a breakpoint notes that a function is entered: its first location that runs once. A function that begins with
 * `while` has none, and is noted at each check of the condition.
 */
async function entryOf(fn: EnteredFunction, texts: Texts, inspector: Inspector): Promise<Location | undefined> {
  const { scriptId, start, end } = fn;
  const text = texts.get(scriptId) ?? "";
  const { locations } = (await inspector.send("Debugger.getPossibleBreakpoints", {
    start: positionOf(scriptId, text, start),
    end: positionOf(scriptId, text, end),
    restrictToFunction: true,
  })) as { locations: readonly Location[] };
  const [first, second] = locations;
  // V8 hangs in a condition that it evaluates before the call of a base class's constructor.
  if (isConstructor(fn, texts) && /\bsuper\(/.test(text.slice(start, end))) {
    return locations.find(({ type }) => type === undefined) ?? first;
  }
  // The variable of `for … of` is the first by its place, but what it goes through is evaluated before.
  const before = text.split("\n")[first?.lineNumber ?? 0]?.slice(0, first?.columnNumber) ?? "";
  return /\bfor (await )?\((const|let) $/.test(before) ? second : first;
}

function positionOf(scriptId: string, text: string, offset: number) {
  const before = text.slice(0, offset).split("\n");
  return { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1)?.length ?? 0 };
}

async function startServer(root: string, folder: string) {
  const petstore = join(root, "bin/petstore");
  const db = join(folder, "store.db");
  const pets = join(folder, "pets.json");
  writeFileSync(
    pets,
    JSON.stringify([
      { id: 7, name: "Luna", category: "dogs", photoUrls: [], tags: [], status: "available", quantity: 5 },
    ]),
  );
  const quota = ["--plan", "enterprise", "--per-minute", "1000000", "--per-day", "1000000"];
  const { key } = JSON.parse(run(petstore, "keys", "create", "--json", "--db", db, ...quota)) as { key: string };
  run(petstore, "import", pets, "--db", db);

  const args = ["serve", "--db", db, "--port", "0", "--ops-port", "0", "--log-level", "silent"];
  const env = { ...process.env, NODE_OPTIONS: "--inspect=127.0.0.1:0" };
  const server = spawn(petstore, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const inspectorUrl = lineOf(server.stderr, /^Debugger listening on (\S+)$/);
  const origin = await lineOf(server.stdout, /(https?:\/\/\S+:\d+)/);
  const inspector = await Inspector.connect(await inspectorUrl);
  return {
    inspector,
    update: async (quantity: number): Promise<void> => {
      const answer = await fetch(`${origin}/v1/inventory/7`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ quantity: Math.abs(quantity) }),
      });
      if (!answer.ok) {
        throw new Error(`the update is answered ${answer.status}: ${await answer.text()}`);
      }
      await answer.arrayBuffer();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      inspector.close();
      server.kill("SIGTERM");
      await once(server, "exit");
    },
  };
}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
  }
  return stdout;
}

async function lineOf(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  for await (const line of createInterface({ input: stream })) {
    const found = pattern.exec(line)?.[1];
    if (found !== undefined) {
      stream.resume();
      return found;
    }
  }
  throw new Error(`the server has ended, and has not printed ${pattern}`);
}
