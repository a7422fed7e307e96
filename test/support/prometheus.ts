import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { until } from "./deadline.ts";
import { endWithProcess } from "./end-with-process.ts";
import { readAlertFile } from "./ops-files.ts";
import { projectRoot } from "./petstore.ts";

/** One series of an answer, with its current value. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** An alert that is pending or fires. */
export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

/** A rule, as Prometheus has evaluated it. */
export interface EvaluatedRule {
  readonly name: string;
  readonly health: "ok" | "err" | "unknown";
  /** RFC 3339. */
  readonly lastEvaluation: string;
  readonly alerts: readonly Alert[];
}

/** A Prometheus process with the project's configuration and alerts, at a faster pace. */
export class Prometheus {
  readonly #process: ChildProcess;
  readonly #origin: string;

  private constructor(process: ChildProcess, origin: string) {
    this.#process = process;
    this.#origin = origin;
  }

  /** Starts one that stores its data in a folder, and scrapes `target`, a host and a port. */
  static async start(folder: string, target: string): Promise<Prometheus> {
    const config = join(folder, "prometheus.yml");
    // JSON is valid YAML.
    writeFileSync(config, JSON.stringify(quickConfig(folder, target)));
    const storage = `--storage.tsdb.path=${join(folder, "data")}`;
    const args = [`--config.file=${config}`, storage, "--web.listen-address=127.0.0.1:0"];
    const child = spawn("prometheus", args, { stdio: ["ignore", "ignore", "pipe"] });
    endWithProcess(child);
    let log = "";
    for await (const line of createInterface({ input: child.stderr })) {
      log += `${line}\n`;
      const address = /Listening on.*\baddress=(\S+)/.exec(line)?.[1];
      if (address !== undefined) {
        child.stderr.resume();
        const origin = `http://${address}`;
        // It listens before it has opened its storage, and answers 503 until then.
        await until(async () => (await fetch(`${origin}/-/ready`)).ok, readyMs);
        return new Prometheus(child, origin);
      }
    }
    throw new Error(`Prometheus has ended: ${log}`);
  }

  /** The current value of an expression. Throws for a bad expression. */
  async query(expression: string): Promise<readonly Sample[]> {
    const { result } = await this.#ask<{ result: { metric: Sample["metric"]; value: [number, string] }[] }>(
      `query?query=${encodeURIComponent(expression)}`,
    );
    return result.map(({ metric, value: [, text] }) => ({ metric, value: Number(text) }));
  }

  async rules(): Promise<readonly EvaluatedRule[]> {
    const { groups } = await this.#ask<{ groups: { rules: EvaluatedRule[] }[] }>("rules");
    return groups.flatMap(({ rules }) => rules);
  }

  /** The names of the alerts that fire. */
  async firing(): Promise<readonly string[]> {
    const rules = await this.rules();
    return rules.filter(({ alerts }) => alerts.some(({ state }) => state === "firing")).map(({ name }) => name);
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  async #ask<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.#origin}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    if (status !== "success") {
      throw new Error(`${path}: ${error}`);
    }
    return data;
  }
}

/** How long it may take to be ready on a busy machine, in milliseconds. */
const readyMs = 30_000;

/** How often this Prometheus scrapes, and evaluates its rules. */
const interval = "250ms";

/** The configuration in `ops/`, with another target and short intervals. */
function quickConfig(folder: string, target: string) {
  const config = parse(readFileSync(join(projectRoot, "ops/prometheus.yml"), "utf8"));
  const alerts = join(folder, "alerts.json");
  writeFileSync(alerts, JSON.stringify(quickAlerts()));
  return {
    ...config,
    global: { ...config.global, scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: [alerts],
    scrape_configs: config.scrape_configs.map((job: object) => ({ ...job, static_configs: [{ targets: [target] }] })),
  };
}

/** The alerts in `ops/`. They wait two seconds before they fire, because a busy machine may miss a scrape. */
function quickAlerts() {
  const groups = readAlertFile().groups.map((group) => ({
    ...group,
    rules: group.rules.map((rule) => (rule.for === undefined ? rule : { ...rule, for: "2s" })),
  }));
  return { groups };
}
