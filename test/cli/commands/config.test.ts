import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { settingKeys } from "../../../src/cli/settings/resolve.ts";
import { createOption, nameOf, type Setting, settings, variableOf } from "../../../src/cli/settings/settings.ts";
import { createFolder } from "../../support/folder.ts";
import { petstore, projectRoot } from "../../support/petstore.ts";
import { petstoreHere } from "../../support/petstore-here.ts";

interface Given {
  readonly file?: string;
  readonly env?: Record<string, string>;
  readonly flags?: string[];
}

/** A setting as `petstore config` prints it. */
async function shown({ file = "", env = {}, flags = [] }: Given, name: string): Promise<unknown> {
  const cwd = createFolder();
  writeFileSync(join(cwd, "petstore.yaml"), file);
  const args = ["config", "--json", "--config", "petstore.yaml", ...flags];
  const { code, stdout, stderr } = await petstoreHere(args, { cwd, env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return (JSON.parse(stdout) as Record<string, unknown>)[name];
}

describe("a setting", () => {
  const secretKey = `secret-key: ${randomBytes(32).toString("base64")}`;
  const file = "# ours\nport: 81\nno-reflection: true\n";

  it.for<[what: string, given: Given, name: string, value: unknown, source: string, place: string | null]>([
    ["has its default", {}, "port", 8080, "default", null],
    ["is taken from the file", { file }, "port", 81, "file", "petstore.yaml:2"],
    [
      "is rather taken from its variable",
      { file, env: { PETSTORE_PORT: "82" } },
      "port",
      82,
      "variable",
      "PETSTORE_PORT",
    ],
    [
      "is rather still taken from its flag",
      { file, env: { PETSTORE_PORT: "82" }, flags: ["--port", "83"] },
      "port",
      83,
      "flag",
      "--port",
    ],
    ["may be a switch in the file", { file }, "no-reflection", true, "file", "petstore.yaml:3"],
    [
      "may be switched off by its variable",
      { file, env: { PETSTORE_NO_REFLECTION: "0" } },
      "no-reflection",
      false,
      "variable",
      "PETSTORE_NO_REFLECTION",
    ],
    [
      "may be switched on by its flag",
      { env: { PETSTORE_NO_REFLECTION: "false" }, flags: ["--no-reflection"] },
      "no-reflection",
      true,
      "flag",
      "--no-reflection",
    ],
    ["is shown in its largest unit", { file: "max-body: 2097152" }, "max-body", "2MiB", "file", "petstore.yaml:1"],
    [
      "may have no end",
      { file: "history-retention: forever" },
      "history-retention",
      "forever",
      "file",
      "petstore.yaml:1",
    ],
    ["may be a duration", { file: "\n\nrequest-timeout: 120s" }, "request-timeout", "2m", "file", "petstore.yaml:3"],
    [
      "may be a list",
      { file: "cors-origin:\n  - https://a.example\n  - https://b.example" },
      "cors-origin",
      ["https://a.example", "https://b.example"],
      "file",
      "petstore.yaml:1",
    ],
    [
      "may be a list of one, or several in a row",
      { file: "trusted-proxy: 10.0.0.0/8, 127.0.0.1" },
      "trusted-proxy",
      ["10.0.0.0/8", "127.0.0.1/32"],
      "file",
      "petstore.yaml:1",
    ],
    ["counts as unset when the file gives it no value", { file: "host:" }, "host", "127.0.0.1", "default", null],
    ["is masked when it is secret", { file: secretKey }, "secret-key", "********", "file", "petstore.yaml:1"],
    ["is shown when it is where a secret is", { file: "tls-key: a" }, "tls-key", "a", "file", "petstore.yaml:1"],
    ["may be absent", {}, "tls-key", null, "default", null],
    ["is the store's file too", { file: "db: my.db" }, "db", "my.db", "file", "petstore.yaml:1"],
  ])("%s", async ([, given, name, value, source, place]) => {
    expect(await shown(given, name)).toEqual({ value, source, place });
  });

  it("is shown to people in a table", async () => {
    const cwd = createFolder();
    writeFileSync(join(cwd, "petstore.yaml"), secretKey);
    const { stdout } = await petstore(["config", "--log-level", "warn"], {
      cwd,
      env: { PETSTORE_CONFIG: "petstore.yaml" },
    });
    expect(stdout).toMatch(/^SETTING +FROM +VALUE\ndb +default +data\/petstore\.db\n/);
    expect(stdout).toMatch(/^secret-key +petstore\.yaml:1 +\*{8}$/m);
    expect(stdout).toMatch(/^log-level +--log-level +warn$/m);
    expect(stdout.trim().split("\n").length).toBe(settingKeys.length);
    expect(stdout).not.toContain(secretKey.slice(-20));
  });
});

it.for<[flag: string, value: string, env?: Record<string, string>]>([
  ["--db", "a.db"],
  ["--database", "sqlite:a.db"],
  ["--database", "postgres://db.example/petstore"],
  ["--db", "a.db", { PETSTORE_DATABASE: "sqlite:b.db" }],
  ["--database", "sqlite:a.db", { PETSTORE_DB: "b.db" }],
])("the store has one row: %s %s %j", async ([flag, value, env = {}]) => {
  const cwd = createFolder();
  const { stdout } = await petstoreHere(["config", flag, value], { cwd, env });
  const rows = stdout.split("\n").filter((line) => /^(db|database) /.test(line));
  expect(rows.map((row) => row.split(/ +/))).toEqual([[flag.slice(2), flag, value]]);
});

it.for<[text: string, line: string]>([
  [
    "host: a\ndb: a.db\ndatabase: sqlite:b.db",
    "3: 'database' and 'db' (a.yaml:2) both name the store: give one of them",
  ],
  ["host: a\ntls-cert: a.pem", "2: --tls-cert and --tls-key go together"],
  ["tls-key: a.pem", "1: --tls-cert and --tls-key go together"],
])("settings of a file that do not go together are reported with their place: %j", async ([text, line]) => {
  const cwd = createFolder();
  writeFileSync(join(cwd, "a.yaml"), `${text}\n`);
  expect(await petstoreHere(["serve", "--config", "a.yaml"], { cwd })).toEqual({
    code: 2,
    stdout: "",
    stderr: `petstore: a.yaml:${line}\n`,
  });
});

describe("a configuration file that is wrong", () => {
  /** Nested lists that each name the former one nine times: 9^12 values in all. */
  const bomb = Array.from("bcdefghijklm", (name, index) => {
    const former = String.fromCharCode("a".charCodeAt(0) + index);
    return `&${name} [${`*${former}, `.repeat(9)}]`;
  }).join(", ");
  const baseUrlForm =
    "It must be a URL that ends in /v1, such as https://api.example.com/v1, without a user name or password.";
  const portForm = "It must be a port from 0 to 65535, 0 for any that is free.";

  it.for<[text: string, line: string]>([
    ["prot: 1", "1: there is no setting 'prot'; 'petstore config' shows them all"],
    ["host: a\nport: x", `2: value 'x' of 'port' is invalid. ${portForm}`],
    ["port: 70000", `1: value '70000' of 'port' is invalid. ${portForm}`],
    ['port: "80"', "1: value '80' of 'port' is invalid. It must be a number."],
    ["host: 5", "1: value '5' of 'host' is invalid. It must be a text."],
    ...["yes", "constructor", "__proto__"].map((word): [string, string] => [
      `demo: ${word}`,
      `1: value '${word}' of 'demo' is invalid. It must be true or false, or 1 or 0.`,
    ]),
    ['db: "a\\0b"', "1: value 'a�b' of 'db' is invalid. It must be the name of a file."],
    [
      'tls-key: "-----BEGIN PRIVATE KEY-----"',
      "1: value '********' of 'tls-key' is invalid. It must be the name of a file, and not the key itself.",
    ],
    ["port: [1]", "1: 'port' takes one plain value"],
    ["port: {a: 1}", "1: 'port' takes one plain value"],
    ["cors-origin: [[]]", "1: 'cors-origin' takes plain values"],
    [
      "request-timeout: 30",
      "1: value '30' of 'request-timeout' is invalid. It must be a duration such as 30s or 5m, of 24d at most, and not zero.",
    ],
    [
      "log-level: loud",
      "1: value 'loud' of 'log-level' is invalid. Allowed choices are silent, fatal, error, warn, info, debug.",
    ],
    ["port: 1\nhost: a\nport: 2", "3: 'port' is already on line 1"],
    ["port: 1\n---\nport: 2", "2: not valid YAML: a second document begins here; a file holds one"],
    ["host: &a b\ndb: *a", "2: 'db' takes one plain value"],
    ["cors-origin: *none", "1: 'cors-origin' takes one plain value"],
    ["cors-origin: &a [*a]", "1: 'cors-origin' takes plain values"],
    ["cors-origin: [~]", "1: 'cors-origin' takes plain values"],
    [": 5", "1: there is no setting 'null'; 'petstore config' shows them all"],
    ['port: "\\e[31m"', `1: value '\ufffd[31m' of 'port' is invalid. ${portForm}`],
    [`port: ${"9".repeat(100_000)}x`, `1: value '${"9".repeat(99)}…' of 'port' is invalid. ${portForm}`],
    [
      "base-url: https://me:secret@example.com",
      `1: value 'https://********@example.com' of 'base-url' is invalid. ${baseUrlForm}`,
    ],
    ["- port", "1: it must hold one setting per line, such as 'port: 8080'"],
  ])("is reported in one line, with its place: %j", async ([text, line]) => {
    const cwd = createFolder();
    writeFileSync(join(cwd, "a.yaml"), `${text}\n`);
    for (const command of [["serve"], ["keys", "create", "--plan", "free"]]) {
      expect(await petstoreHere([...command, "--config", "a.yaml"], { cwd })).toEqual({
        code: 2,
        stdout: "",
        stderr: `petstore: a.yaml:${line}\n`,
      });
    }
    expect(readdirSync(cwd)).toEqual(["a.yaml"]);
  });

  // In processes of their own: nothing could end a test that waits for ever in the one of the tests.
  it.for<[what: string, text: string, code: number, line: string]>([
    ["is too large", "#".repeat(2 ** 20 + 1), 1, "cannot read a.yaml: it is larger than 1MiB"],
    ["has too many lines", "port: 1\n".repeat(60_000), 2, "a.yaml:2: 'port' is already on line 1"],
    ["is too deep", `port: ${"[".repeat(20_000)}`, 2, "a.yaml:1: not valid YAML: it is nested too deeply"],
    ["stands for far more", `trusted-proxy: [&a [x], ${bomb}]`, 2, "a.yaml:1: 'trusted-proxy' takes plain values"],
  ])("is refused soon when it %s", async ([, text, code, line]) => {
    const cwd = createFolder();
    writeFileSync(join(cwd, "a.yaml"), text);
    for (const command of [["config"], ["keys", "create", "--plan", "free"]]) {
      expect(await petstore([...command, "--config", "a.yaml"], { cwd })).toEqual({
        code,
        stdout: "",
        stderr: `petstore: ${line}\n`,
      });
    }
    expect(readdirSync(cwd)).toEqual(["a.yaml"]);
  });

  it("is reported when it cannot be read", async () => {
    const cwd = createFolder();
    expect(await petstoreHere(["config", "--config", "none.yaml"], { cwd })).toEqual({
      code: 1,
      stdout: "",
      stderr: "petstore: cannot read none.yaml: no such file or directory\n",
    });
  });
});

it("serves every command the store that the file names", async () => {
  const cwd = createFolder();
  writeFileSync(join(cwd, "petstore.yaml"), "db: mine.db\n");
  await petstoreHere(["keys", "create", "--plan", "free"], { cwd, env: { PETSTORE_CONFIG: "petstore.yaml" } });
  expect(readdirSync(cwd).sort()).toEqual(["mine.db", "petstore.yaml"]);
});

describe("docs/operations.md", () => {
  const operations = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");

  it("has a row for every setting, with its description", () => {
    const rows = settingKeys.map((key) => {
      const { type, description, defaultValue } = settings[key] as Setting<unknown>;
      const isSet = defaultValue !== undefined && defaultValue !== false && !Array.isArray(defaultValue);
      const cells = [createOption(key).flags, variableOf(key)].map((text) => `\`${text}\``);
      return `| ${[...cells, isSet ? `\`${String(type.write(defaultValue))}\`` : "", description].join(" | ")} |`;
    });
    const table = /\| flag \| variable \| default \| \|\n\| --- \| --- \| --- \| --- \|\n(.*?)\n\n/s.exec(
      operations,
    )?.[1];
    expect(table).toBe(rows.join("\n"));
  });

  it("has the beginning of the line that tells an error in the file", async () => {
    const cwd = createFolder();
    writeFileSync(join(cwd, "petstore.yaml"), "# petstore.yaml\nhost: ::1\nport: 70000\n");
    const { stderr } = await petstoreHere(["config", "--config", "petstore.yaml"], { cwd });
    expect(operations).toContain(`\`${stderr.split("It must")[0]}…\``);
  });

  it("names the operator port of a server elsewhere", () => {
    expect(operations).toContain("petstore status --ops-url http://");
  });

  it("has an example file that is accepted", async () => {
    const [, file = ""] = /```yaml\n# petstore\.yaml\n(.*?)```/s.exec(operations) ?? [];
    const names = [...file.matchAll(/^([a-z-]+):/gm)].map(([, name]) => name ?? "");
    expect(names.length).toBeGreaterThan(3);
    for (const name of names) {
      expect(await shown({ file }, name)).toMatchObject({ source: "file" });
    }
    expect(settingKeys.map(nameOf)).toEqual(expect.arrayContaining(names));
  });
});

describe("a variable", () => {
  it.for<[name: string, value: string, line: string]>([
    ["PETSTORE_DEMO", "yes", 'PETSTORE_DEMO must be true or false, or 1 or 0, not "yes"'],
    ["PETSTORE_DEMO", "constructor", 'PETSTORE_DEMO must be true or false, or 1 or 0, not "constructor"'],
    ["PETSTORE_DEMO", "\u001b[2J", 'PETSTORE_DEMO must be true or false, or 1 or 0, not "\\u001b[2J"'],
    [
      "PETSTORE_PORT",
      "tcp://10.0.0.7:8080",
      "option '--port <port>' value 'tcp://10.0.0.7:8080' from env 'PETSTORE_PORT' is invalid. Kubernetes sets this for a " +
        "Service of that name: give the pod 'enableServiceLinks: false', or the Service another name.",
    ],
    [
      "PETSTORE_BASE_URL",
      "https://me:sec@ret@example.com/v1",
      "option '--base-url <url>' value 'https://********@example.com/v1' from env 'PETSTORE_BASE_URL' is invalid. It must be " +
        "a URL that ends in /v1, such as https://api.example.com/v1, without a user name or password.",
    ],
  ])("that is wrong is reported in one line: %s", async ([name, value, line]) => {
    expect(await petstoreHere(["config"], { env: { [name]: value } })).toEqual({
      code: 2,
      stdout: "",
      stderr: `petstore: ${line}\n`,
    });
  });

  it.for<[names: string[], line: string]>([
    [["PETSTORE_PROT"], "PETSTORE_PROT (did you mean PETSTORE_PORT?)"],
    [["PETSTORE_LOGLEVEL", "PETSTORE_TLS"], "PETSTORE_LOGLEVEL (did you mean PETSTORE_LOG_LEVEL?), PETSTORE_TLS"],
    [["PETSTORE_OPS_PROT_\u001b"], "PETSTORE_OPS_PROT_\ufffd"],
  ])("that names no setting causes a warning: %j", async ([names, line]) => {
    const env = Object.fromEntries(names.map((name) => [name, "1"]));
    const { code, stderr } = await petstoreHere(["config"], { env });
    expect([code, stderr]).toEqual([0, `petstore: warning: no setting has the variable ${line}\n`]);
  });

  it("that other programs set is ignored", async () => {
    const env = {
      PETSTORE_SERVICE_HOST: "10.0.0.7",
      PETSTORE_SERVICE_PORT: "8080",
      PETSTORE_SERVICE_PORT_HTTP: "8080",
      PETSTORE_PORT_8080_TCP: "tcp://10.0.0.7:8080",
      PETSTORE_PORT_8080_TCP_ADDR: "10.0.0.7",
      PETSTORE_API_PORT: "tcp://10.0.0.8:80",
      PETSTORE_API_KEY: "psk_",
      PETSTORE_TEST_LONG: "0",
    };
    expect(await petstoreHere(["config"], { env })).toMatchObject({ code: 0, stderr: "" });
  });
});
