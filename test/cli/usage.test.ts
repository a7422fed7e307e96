import { mkdtempDisposableSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { settingKeys } from "../../src/cli/settings/resolve.ts";
import { flagOf, variableOf } from "../../src/cli/settings/settings.ts";
import { petstoreHere } from "../support/petstore-here.ts";

/** Runs a command that must fail with one line on stderr, and leave its folder as it was. */
async function check(args: string, code: number, line: string, env: Record<string, string> = {}): Promise<void> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "petstore-usage-"));
  const cwd = folder.path;
  writeFileSync(join(cwd, "text.pem"), "not a certificate\n");
  const outcome = await petstoreHere(args.split(" "), { cwd, env });
  expect(outcome).toEqual({ code, stdout: "", stderr: `petstore: ${line}\n` });
  expect(readdirSync(cwd)).toEqual(["text.pem"]);
}

const portForm = "It must be a port from 0 to 65535, 0 for any that is free.";
const sizeForm = "It must be a number of bytes such as 1048576, 512KiB or 1MiB, and not zero.";
const graceForm = "It must be a duration such as 10s or 5m, of 24d at most.";
const timeoutForm = "It must be a duration such as 30s or 5m, of 24d at most, and not zero.";
const baseUrlForm =
  "It must be a URL that ends in /v1, such as https://api.example.com/v1, without a user name or password.";
const limitForm = "It must be a whole number from 1 to 999999999999999.";
const scopes = "inventory:read, inventory:write, pets:read, orders:read";

describe("wrong usage", () => {
  it.for<[string, string]>([
    ["fly", "unknown command 'fly'"],
    ["help fly", "unknown command 'fly'"],
    ...["backup ", "restore ", "import "].map((command): [string, string] => [
      command,
      "command-argument value '' is invalid for argument 'file'. It must be the name of a file.",
    ]),
    ...["backup -", "restore -"].map((command): [string, string] => [
      command,
      "command-argument value '-' is invalid for argument 'file'. It must be the name of a file, and not stdin or stdout.",
    ]),
    ["serve --prot 1", "unknown option '--prot' (Did you mean --port?)"],
    ["serve now", "too many arguments for 'serve'. Expected 0 arguments but got 1: now."],
    ["serve --port 65536", `option '--port <port>' argument '65536' is invalid. ${portForm}`],
    ["serve --ops-port x", `option '--ops-port <port>' argument 'x' is invalid. ${portForm}`],
    ["serve --max-body 1MB", `option '--max-body <size>' argument '1MB' is invalid. ${sizeForm}`],
    ["serve --max-body 0", `option '--max-body <size>' argument '0' is invalid. ${sizeForm}`],
    ["serve --shutdown-grace 10", `option '--shutdown-grace <duration>' argument '10' is invalid. ${graceForm}`],
    ["serve --shutdown-grace 25d", `option '--shutdown-grace <duration>' argument '25d' is invalid. ${graceForm}`],
    ["serve --request-timeout 5", `option '--request-timeout <duration>' argument '5' is invalid. ${timeoutForm}`],
    ["serve --request-timeout 0s", `option '--request-timeout <duration>' argument '0s' is invalid. ${timeoutForm}`],
    ["serve --request-timeout 25d", `option '--request-timeout <duration>' argument '25d' is invalid. ${timeoutForm}`],
    ...["ever", "0s"].map((text): [string, string] => [
      `serve --history-retention ${text}`,
      `option '--history-retention <duration>' argument '${text}' is invalid. It must be a duration such as 30s, 15m, 24h or 30d, of a century at most, and not zero, or forever.`,
    ]),
    [
      "keys rotate key_1 --grace 1y",
      "option '--grace <duration>' argument '1y' is invalid. It must be a duration such as 30s, 15m, 24h or 30d, of a century at most.",
    ],
    [
      "serve --cors-origin https://a.example/",
      "option '--cors-origin <origin>' argument 'https://a.example/' is invalid. It must be an origin such as https://example.com, without a path.",
    ],
    ...["https://api.example.com", "api.example.com/v1", "https://api.example.com/v1/"].map((url): [string, string] => [
      `serve --base-url ${url}`,
      `option '--base-url <url>' argument '${url}' is invalid. ${baseUrlForm}`,
    ]),
    [
      "serve --base-url https://a:b@c.example/v1",
      `option '--base-url <url>' argument 'https://********@c.example/v1' is invalid. ${baseUrlForm}`,
    ],
    [
      "serve --staging-base-url ftp://a.example/v1",
      `option '--staging-base-url <url>' argument 'ftp://a.example/v1' is invalid. ${baseUrlForm}`,
    ],
    [
      "serve --trusted-proxy 10.0.0.0/33",
      "option '--trusted-proxy <cidr>' argument '10.0.0.0/33' is invalid. It must be a network such as 10.0.0.0/8 or fd00::/8, or an address.",
    ],
    [
      "serve --log-level loud",
      "option '--log-level <level>' argument 'loud' is invalid. Allowed choices are silent, fatal, error, warn, info, debug.",
    ],
    ["serve --tls-cert text.pem", "--tls-cert and --tls-key go together"],
    ["keys create", "name the plan of the key, with --plan: free, pro, business or enterprise"],
    ["keys create --name N", "name the plan of the key, with --plan: free, pro, business or enterprise"],
    ["keys show", "missing required argument 'id'"],
    ["keys show key_1 key_2", "too many arguments for 'show'. Expected 1 argument but got 2: key_1, key_2."],
    ["keys show key_1 --json=1", "unknown option '--json=1' (Did you mean --json?)"],
    ["keys update --name N", "missing required argument 'id'"],
    ["keys update key_1 --expiry", "unknown option '--expiry' (Did you mean --no-expiry?)"],
    ["keys list --all=1", "unknown option '--all=1' (Did you mean --all?)"],
    ["keys list all", "too many arguments for 'list'. Expected 0 arguments but got 1: all."],
    [
      "keys create --plan gold",
      "option '--plan <plan>' argument 'gold' is invalid. Allowed choices are free, pro, business, enterprise.",
    ],
    [
      "keys create --plan pro --scope pets:write",
      `option '--scope <scope>' argument 'pets:write' is invalid. It must be one of ${scopes}.`,
    ],
    ["keys create --plan enterprise --per-day 9", "an enterprise key needs both --per-minute and --per-day"],
    [
      "keys create --plan pro --per-day 9",
      "the limits of the pro plan are fixed: leave out --per-minute and --per-day",
    ],
    [
      "keys create --plan enterprise --per-day 9 --per-minute 0",
      `option '--per-minute <n>' argument '0' is invalid. ${limitForm}`,
    ],
    [
      "keys create --plan enterprise --per-minute 9 --per-day 1000000000000000",
      `option '--per-day <n>' argument '1000000000000000' is invalid. ${limitForm}`,
    ],
    [
      "keys create --plan pro --expires-in 0d",
      "option '--expires-in <duration>' argument '0d' is invalid. It must be a duration such as 30s, 15m, 24h or 30d, of a century at most, and not zero.",
    ],
    ["keys revoke", "missing required argument 'id'"],
    ["keys list --db ", "option '--db <file>' argument '' is invalid. It must be the name of a file."],
    ["serve --host ", "option '--host <host>' argument '' is invalid. It must be the name or the address of a host."],
    ["serve --config ", "option '--config <file>' argument '' is invalid. It must be the name of a file."],
    ["import", "name a file of pets, or --orders FILE"],
    ["import - --orders -", "pets and orders cannot both come from stdin"],
    ["import pets.xml", "pets.xml must end in .csv, .json, .jsonl or .ndjson, or be given with --format"],
    [
      "import pets.csv --format xml",
      "option '--format <format>' argument 'xml' is invalid. Allowed choices are csv, json, jsonl.",
    ],
    ["import pets.csv --format", "option '--format <format>' argument missing"],
    ["import --dry-run", "name a file of pets, or --orders FILE"],
    ["import pets.csv --dry-run=1", "unknown option '--dry-run=1' (Did you mean --dry-run?)"],
    ["export --format json", "option '--format <format>' argument 'json' is invalid. Allowed choices are csv, jsonl."],
  ])("exits with 2: petstore %s", ([args, line]) => check(args, 2, line));

  it.for<[string, string, string]>([
    ["PETSTORE_PORT", "x", `option '--port <port>' value 'x' from env 'PETSTORE_PORT' is invalid. ${portForm}`],
    [
      "PETSTORE_REQUEST_TIMEOUT",
      "1",
      `option '--request-timeout <duration>' value '1' from env 'PETSTORE_REQUEST_TIMEOUT' is invalid. ${timeoutForm}`,
    ],
    [
      "PETSTORE_BASE_URL",
      "x",
      `option '--base-url <url>' value 'x' from env 'PETSTORE_BASE_URL' is invalid. ${baseUrlForm}`,
    ],
    ["PETSTORE_DEMO", "maybe", 'PETSTORE_DEMO must be true or false, or 1 or 0, not "maybe"'],
  ])("may come from the environment: %s=%s", ([name, value, line]) => check("serve", 2, line, { [name]: value }));
});

describe("an empty environment variable", () => {
  it.for(["PORT", "MAX_BODY", "REQUEST_TIMEOUT", "CORS_ORIGIN", "LOG_LEVEL", "DEMO", "TLS_CERT"])(
    "counts as unset: PETSTORE_%s",
    (name) =>
      check("serve --tls-key text.pem", 2, "--tls-cert and --tls-key go together", { [`PETSTORE_${name}`]: "" }),
  );

  it("counts as unset: PETSTORE_DB", () =>
    check("export", 1, "data/petstore.db: there is no such store", { PETSTORE_DB: "" }));
});

describe("a command that fails", () => {
  it.for<[string, string]>([
    ["keys list", "data/petstore.db: there is no such store"],
    ...[
      "keys show key_1",
      "keys update key_1 --name N",
      "keys rotate key_1",
      "keys revoke key_1",
      "keys unban key_1",
      "export",
      "export --orders",
      "backup copy.db",
      "backup text.pem",
      "check",
    ].flatMap((command): [string, string][] => [
      [command, "data/petstore.db: there is no such store"],
      [`${command} --db dat/petstore.db`, "dat/petstore.db: there is no such store"],
    ]),
    ...["text.pem/a.db", "text.pem/a/b.db"].map((db): [string, string] => [
      `keys create --plan free --db ${db}`,
      `${db}: a file stands where its folder should be; name another path`,
    ]),
    ["keys list --db text.pem", "text.pem: not a SQLite database"],
    ["import pets.csv", "cannot read pets.csv: no such file or directory"],
    ["serve --tls-cert no.pem --tls-key no.pem", "cannot read no.pem: no such file or directory"],
    ["serve --tls-cert text.pem --tls-key text.pem", "cannot use text.pem for TLS: no private key in PEM"],
  ])("exits with 1: petstore %s", ([args, line]) => check(args, 1, line));
});

interface HelpPage {
  /** Without the program's name. */
  readonly command: string;
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** The help of a command, and of all commands below it that its help lists. */
async function helpPages(command: readonly string[] = []): Promise<readonly HelpPage[]> {
  const outcome = await petstoreHere([...command, "--help"], { cwd: "/" });
  const [, list = ""] = outcome.stdout.split("\nCommands:\n");
  const names = [...(list.split("\n\n")[0] ?? "").matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
  const pages: HelpPage[] = [{ command: command.join(" "), ...outcome }];
  for (const name of names.filter((each) => each !== "help")) {
    pages.push(...(await helpPages([...command, name])));
  }
  return pages;
}

it("every command has help, in 80 columns", async () => {
  const pages = await helpPages();
  const commands = pages.map(({ command }) => command);
  expect(commands).toEqual(expect.arrayContaining(["serve", "keys create", "webhooks deliveries", "copy", "check"]));
  for (const { command, code, stdout, stderr } of pages) {
    expect({ command, code, stderr }).toEqual({ command, code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: petstore ${command}`);
    expect(stdout).toContain("PETSTORE_CONFIG");
    expect({ command, wide: stdout.split("\n").filter((line) => line.length > 80) }).toEqual({ command, wide: [] });
  }
});

it("every command's help names the variable of each setting that it takes", async () => {
  const lacking = (await helpPages()).flatMap(({ command, stdout }) =>
    settingKeys
      .filter((key) => new RegExp(`^ {2}${flagOf(key)}( |$)`, "m").test(stdout) && !stdout.includes(variableOf(key)))
      .map((key) => `${command} ${flagOf(key)}`),
  );
  expect(lacking).toEqual([]);
});

it("every command's help has the flags of the store, but for copy, which refuses them", async () => {
  const pages = await helpPages();
  const without = pages.filter(({ stdout }) => !/^ {2}--db /m.test(stdout) || !/^ {2}--database /m.test(stdout));
  expect(without.map(({ command }) => command)).toEqual(["copy"]);
  expect(without[0]?.stdout).not.toMatch(/--db\b|--database|PETSTORE_D/);
});

it.for(["import", "export", "history"])("help of %s names the jq that keeps 64-bit numbers", async (command) => {
  const { stdout } = await petstoreHere([command, "--help"], { cwd: "/" });
  expect(stdout).toContain("jq 1.7");
});

it.for(["keys create", "webhooks list"])("help of %s is the same in both forms", async (command) => {
  const names = command.split(" ");
  expect(await petstoreHere(["help", ...names], { cwd: "/" })).toEqual(
    await petstoreHere([...names, "--help"], { cwd: "/" }),
  );
});
