import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Machine } from "./machine.ts";

/** The result of an attempt. */
export interface Attempt {
  readonly seconds: number;
  /** The size of `node_modules`. */
  readonly megabytes: number;
  /** The Node version that ran the service. */
  readonly runsOn: string;
  /** What failed, in one line; undefined if nothing did. */
  readonly failure: string | undefined;
}

/** The most that `node_modules` may take, in megabytes: half of it is the Node that older ones need. */
const maxMegabytes = 450;

/** A few tests: some run in process, some start commands, some call servers. */
const someTests = ["test/domain", "test/cli/arguments.test.ts", "test/api/inventory-update.test.ts"];

/** `npm ci`, then `npm start` until it answers an update, then some of `npm test`. */
export function tryCheckout(machine: Machine, root: string): Promise<Attempt> {
  const folder = join(machine.folder, "checkout");
  for (const path of execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0")) {
    if (path !== "" && existsSync(join(root, path))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(root, path), join(folder, path));
    }
  }
  return attempt(machine, folder, ["ci"], async () => {
    const runsOn = await updateOnce(machine, folder, ["npm", "start"]);
    run(machine, folder, "npm", ["test", "--", ...someTests]);
    return runsOn;
  });
}

/** `npm install` of the package in an empty project, then `npx petstore serve --demo` until it has answered an update. */
export function tryPackage(machine: Machine, tarball: string): Promise<Attempt> {
  const folder = join(machine.folder, "consumer");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), "{}");
  return attempt(machine, folder, ["install", tarball], () =>
    updateOnce(machine, folder, ["node_modules/.bin/petstore", "serve", "--demo"]),
  );
}

async function attempt(
  machine: Machine,
  folder: string,
  install: readonly string[],
  use: () => Promise<string>,
): Promise<Attempt> {
  const startMs = performance.now();
  let seconds = 0;
  let megabytes = 0;
  try {
    run(machine, folder, "npm", install);
    seconds = Math.round((performance.now() - startMs) / 1000);
    const modules = join(folder, "node_modules");
    megabytes = Number.parseInt(execFileSync("du", ["-sm", modules], { encoding: "utf8" }), 10);
    if (existsSync(join(modules, "better-sqlite3/build"))) {
      throw new Error("an install script has run");
    }
    if (megabytes > maxMegabytes) {
      throw new Error(`it brings more than ${maxMegabytes} MB`);
    }
    const runsOn = await use();
    return { seconds, megabytes, runsOn, failure: undefined };
  } catch (error) {
    const failure = String((error as Error).message).split("\n", 1)[0];
    return { seconds, megabytes, runsOn: "–", failure };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Serves, makes an update, and stops. Returns the version of Node. Throws when any of it fails. */
async function updateOnce(machine: Machine, cwd: string, [command = "", ...args]: readonly string[]): Promise<string> {
  const env = { ...machine.env, PETSTORE_PORT: "0", PETSTORE_OPS_PORT: "0" };
  // A group of its own, as in a terminal: npm 9 passes no signal on to what it runs.
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "ignore"], detached: true });
  const kill = (signal: NodeJS.Signals) => process.kill(-(child.pid as number), signal);
  // Closed when the last process of the group has ended.
  const closed = once(child, "close");
  const giveUp = setTimeout(() => kill("SIGKILL"), 60_000);
  try {
    return await update(createInterface({ input: child.stdout }));
  } finally {
    kill("SIGTERM");
    await closed;
    clearTimeout(giveUp);
  }
}

/** Makes the update that the README shows, with the addresses and the key that a demo prints. */
async function update(lines: AsyncIterable<string>): Promise<string> {
  let origin: string | undefined;
  let opsOrigin: string | undefined;
  let key: string | undefined;
  for await (const line of lines) {
    origin ??= /^petstore listening on (\S+)/.exec(line)?.[1];
    opsOrigin ??= /operator\S* port on (\S+)/.exec(line)?.[1];
    key ??= /psk_\w+/.exec(line)?.[0];
    if (key !== undefined) {
      break;
    }
  }
  const answer = await fetch(`${origin}/v1/inventory/7`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: '{"quantity": 5}',
  });
  if (answer.status !== 200) {
    throw new Error(`the update was answered ${answer.status}`);
  }
  const metrics = await (await fetch(`${opsOrigin}/metrics`)).text();
  return /node="v?([\d.]+)"/.exec(metrics)?.[1] ?? "unknown";
}

/** Runs a command to its end, and returns what it prints. Throws when it fails. */
function run({ env }: Machine, cwd: string, command: string, args: readonly string[]): string {
  return execFileSync("sh", ["-c", '"$@" 2>&1', "sh", command, ...args], {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
}
