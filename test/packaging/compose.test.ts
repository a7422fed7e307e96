import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseDuration } from "../../src/cli/parse/duration.ts";
import { settings } from "../../src/cli/settings/settings.ts";
import { isInstalled } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";

interface Service {
  readonly image: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly stop_grace_period?: string;
}

const compose = parse(readFileSync(join(projectRoot, "compose.yaml"), "utf8"), { merge: true });
const services = Object.entries<Service>(compose.services);
const run = promisify(execFile);

describe("compose.yaml", () => {
  it.skipIf(!isInstalled("docker-compose"))(
    "is what Docker Compose takes (skipped without docker-compose)",
    async () => {
      await expect(run("docker-compose", ["config", "--quiet"], { cwd: projectRoot })).resolves.toMatchObject({
        stderr: "",
      });
    },
  );

  it.each(services)("confines %s, and publishes it to this machine only", (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    expect(service.ports.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  it("gives the service longer to stop than it takes", () => {
    const { stop_grace_period = "" } = compose.services.petstore as Service;
    expect(parseDuration(stop_grace_period)).toBeGreaterThan(settings.shutdownGrace.byDefault);
  });

  it("mounts existing files, and declared volumes", () => {
    const sources = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(":", 1)[0] ?? ""));
    expect(sources).toContain("./ops/prometheus.yml");
    expect(sources.filter((source) => !isThere(source))).toEqual([]);
  });

  it.skipIf(!isInstalled("promtool"))(
    "has a configuration that Prometheus takes (skipped without promtool)",
    async () => {
      const { stdout } = await run("promtool", ["check", "config", join(projectRoot, "ops/prometheus.yml")]);
      expect(stdout).toContain("1 rule files found");
    },
  );

  it("has Prometheus ask the operator's port, under the name of the alerts' job", () => {
    const { scrape_configs } = parse(readFileSync(join(projectRoot, "ops/prometheus.yml"), "utf8"));
    const target = `petstore:${settings.opsPort.byDefault}`;
    expect(scrape_configs).toEqual([{ job_name: "petstore", static_configs: [{ targets: [target] }] }]);
    expect(readFileSync(join(projectRoot, "ops/alerts.yaml"), "utf8")).toContain('job="petstore"');
  });
});

function isThere(source: string): boolean {
  return source.startsWith(".") ? existsSync(join(projectRoot, source)) : source in compose.volumes;
}
