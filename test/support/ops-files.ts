import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { projectRoot } from "./petstore.ts";

export const alertFile = join(projectRoot, "ops/alerts.yaml");

/** An alert of `ops/alerts.yaml`. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

export interface AlertFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}

/** A panel of `ops/grafana.json`, as far as the tests read it. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

export function readAlertFile(): AlertFile {
  return parse(readFileSync(alertFile, "utf8"));
}

export function alertRules(): readonly AlertRule[] {
  return readAlertFile().groups.flatMap(({ rules }) => rules);
}

export function dashboardPanels(): readonly Panel[] {
  return JSON.parse(readFileSync(join(projectRoot, "ops/grafana.json"), "utf8")).panels;
}

/** The expressions of the dashboard, with Grafana's variables as they are. */
export function dashboardExpressions(): readonly string[] {
  return dashboardPanels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** The expressions of the dashboard as Grafana sends them, for all instances. */
export function sentExpressions(rateInterval: string): readonly string[] {
  return dashboardExpressions().map((expr) =>
    expr.replaceAll("$__rate_interval", rateInterval).replaceAll("$instance", ".*"),
  );
}
