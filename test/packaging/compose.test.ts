import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { BlockList } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseDuration } from "../../src/cli/arguments.ts";
import { settings } from "../../src/cli/settings/settings.ts";
import { heartbeatMs } from "../../src/domain/history.ts";
import { isInstalled } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";

interface Service {
  readonly image: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly ports?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string }>>;
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly stop_grace_period?: string;
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, Network>>;
}

interface Network {
  readonly ipam?: { readonly config: readonly { readonly subnet: string; readonly ip_range?: string }[] };
}

const run = promisify(execFile);
const secrets = { POSTGRES_PASSWORD: "0a", VALKEY_PASSWORD: "0b" };

function read(name: string): string {
  return readFileSync(join(projectRoot, name), "utf8");
}

function readCompose(name: string): ComposeFile {
  return parse(read(name), { merge: true });
}

/** The addresses of a subnet, such as `10.0.0.0/8`. */
function listOf(subnet: string): BlockList {
  const [address = "", prefix] = subnet.split("/");
  const list = new BlockList();
  list.addSubnet(address, Number(prefix));
  return list;
}

/** Has Docker Compose read a file, with these variables and the present PATH alone. */
function config(name: string, env: Readonly<Record<string, string>>) {
  const { PATH = "", HOME = "" } = process.env;
  const args = ["--file", name, "config", "--quiet"];
  return run("docker-compose", args, { cwd: projectRoot, env: { PATH, HOME, ...env } });
}

describe.each([
  ["compose.yaml", {}, "prometheus.yml"],
  ["compose.cluster.yaml", secrets, "prometheus-cluster.yml"],
])("%s", (name, env, scraping) => {
  const { services, volumes } = readCompose(name);
  const all = Object.entries(services);
  const servers = all.filter(([, { image }]) => image === "petstore-inventory");

  it.skipIf(!isInstalled("docker-compose"))(
    "is what Docker Compose takes (skipped without docker-compose)",
    async () => {
      expect(await config(name, env)).toMatchObject({ stderr: "" });
    },
  );

  it.each(all)("confines %s, and publishes it to this machine only", (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    expect((service.ports ?? []).filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  it.each(servers)("gives %s longer to stop than it takes", (_name, { stop_grace_period = "" }) => {
    expect(parseDuration(stop_grace_period)).toBeGreaterThan(settings.shutdownGrace.defaultValue);
  });

  it("mounts existing files, and declared volumes", () => {
    const sources = all.flatMap(([, service]) =>
      (service.volumes ?? []).map((volume) => volume.split(":", 1)[0] ?? ""),
    );
    const isThere = (source: string) =>
      source.startsWith(".") ? existsSync(join(projectRoot, source)) : source in volumes;
    expect(sources).toContain(`./ops/${scraping}`);
    expect(sources.filter((source) => !isThere(source))).toEqual([]);
  });

  it("pins a version of each image", () => {
    const others = all.map(([, { image }]) => image).filter((image) => image !== "petstore-inventory");
    expect(others.filter((image) => !/:v?\d+\.\d+(\.\d+)?$/.test(image))).toEqual([]);
  });

  it.skipIf(!isInstalled("promtool"))(
    "has a configuration that Prometheus takes (skipped without promtool)",
    async () => {
      const { stdout } = await run("promtool", ["check", "config", join(projectRoot, "ops", scraping)]);
      expect(stdout).toContain("1 rule files found");
    },
  );

  it("has Prometheus ask the operator's ports, under the name of the alerts' job", () => {
    const targets = servers.map(([server]) => `${server}:${settings.opsPort.defaultValue}`);
    expect(parse(read(`ops/${scraping}`)).scrape_configs).toEqual([
      { job_name: "petstore", static_configs: [{ targets }] },
    ]);
    expect(read("ops/alerts.yaml")).toContain('job="petstore"');
  });
});

describe("compose.cluster.yaml", () => {
  const { services, networks = {} } = readCompose("compose.cluster.yaml");
  const balancer = read("ops/haproxy.cfg");
  const servers = Object.entries(services).filter(([, { image }]) => image === "petstore-inventory");

  it.skipIf(!isInstalled("docker-compose"))("has no password of its own (skipped without docker-compose)", async () => {
    for (const secret of Object.keys(secrets)) {
      const others = Object.fromEntries(Object.entries(secrets).filter(([name]) => name !== secret));
      await expect(config("compose.cluster.yaml", others)).rejects.toMatchObject({
        stderr: expect.stringContaining(secret),
      });
    }
  });

  it("runs three servers, and the balancer knows each", () => {
    expect(servers.map(([name]) => name)).toEqual(["petstore-1", "petstore-2", "petstore-3"]);
    const known = [...balancer.matchAll(/^ {2}server (\S+) \S+:(\d+) port (\d+)$/gm)].map((line) => line.slice(1, 4));
    const [api, ops] = [String(settings.port.defaultValue), String(settings.opsPort.defaultValue)];
    expect(known).toEqual(servers.map(([name]) => [name, api, ops]));
  });

  it("has servers believe the balancer about clients' addresses, and nobody else", () => {
    const address = Object.values(services.balancer?.networks ?? {})[0];
    for (const [, { environment }] of servers) {
      expect(environment?.PETSTORE_TRUSTED_PROXY).toBe(`${address.ipv4_address}/32`);
    }
  });

  it("hands out addresses beside those that are fixed, whoever starts first", () => {
    const fixed = Object.values(services).flatMap(({ networks: joined = [] }) =>
      Array.isArray(joined) ? [] : Object.entries(joined),
    );
    expect(fixed.map(([network]) => network)).toEqual(["front"]);
    for (const [network, { ipv4_address }] of fixed) {
      const [{ subnet, ip_range = subnet } = { subnet: "" }] = networks[network]?.ipam?.config ?? [];
      expect(listOf(subnet).check(ipv4_address)).toBe(true);
      expect(listOf(ip_range).check(ipv4_address)).toBe(false);
    }
  });

  it("keeps the stores where servers alone reach them", () => {
    for (const name of ["postgres", "valkey"]) {
      expect(services[name]).toMatchObject({ networks: ["data"] });
      expect(services[name]).not.toHaveProperty("ports");
    }
    const reaching = Object.entries(services).filter(
      ([, { networks }]) => Array.isArray(networks) && networks.includes("data"),
    );
    expect(reaching.map(([name]) => name)).toEqual([...servers.map(([name]) => name), "postgres", "valkey"]);
  });

  it("has a balancer whose timeouts are longer than a stream's silence", () => {
    const seconds = [...balancer.matchAll(/^ {2}timeout (?:client|server) (\d+)s$/gm)].map(([, value]) =>
      Number(value),
    );
    expect(seconds).toHaveLength(2);
    expect(Math.min(...seconds) * 1_000).toBeGreaterThan(3 * heartbeatMs);
  });

  it("has a balancer that takes the largest headers that the service takes", () => {
    const size = Number(/^ {2}tune\.bufsize (\d+)$/m.exec(balancer)?.[1]);
    expect(size).toBeGreaterThanOrEqual(2 * 16_384);
  });

  it("has a balancer that repeats nothing that may have been done", () => {
    expect(balancer).toMatch(/^ {2}retry-on conn-failure empty-response$/m);
    expect(balancer).toMatch(/^ {2}http-request disable-l7-retry if !\{ method GET HEAD \}$/m);
  });
});
