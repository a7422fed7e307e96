import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { settingKeys } from "../../src/cli/settings/resolve.ts";
import { settings, variableOf } from "../../src/cli/settings/settings.ts";
import { isInstalled } from "../support/installed.ts";
import { faultsOf, type Manifest } from "../support/kubernetes.ts";
import { projectRoot } from "../support/petstore.ts";

const folder = join(projectRoot, "ops/kubernetes");
const { resources } = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as { resources: string[] };

const manifests = resources.flatMap((file) =>
  parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((document) => document.toJS() as Manifest),
);

// biome-ignore lint/suspicious/noExplicitAny: the schemas judge the shape.
function find(kind: string, name = "petstore"): any {
  return manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
}

const { spec } = find("Deployment");
const pod = spec.template.spec;
const [container] = pod.containers;

describe("the manifests for Kubernetes", () => {
  it("are all files of the folder", () => {
    expect(readdirSync(folder).toSorted()).toEqual([...resources, "kustomization.yaml"].toSorted());
  });

  it("are what Kubernetes takes", () => {
    expect(faultsOf(manifests)).toEqual(manifests.map(() => []));
  });

  const spoilt: readonly [what: string, kind: string, change: (text: string) => string][] = [
    ["a misspelt field", "Deployment", (text) => text.replace("readinessProbe", "readynessProbe")],
    ["a misspelt field deep down", "Deployment", (text) => text.replace("periodSeconds", "periodSecond")],
    ["a text for a number", "Deployment", (text) => text.replace('"failureThreshold":60', '"failureThreshold":"60"')],
    ["a number for a text", "ConfigMap", (text) => text.replace('"local"', "5")],
    ["a missing field", "HorizontalPodAutoscaler", (text) => text.replace(/"maxReplicas":\d+,/, "")],
    ["an unknown version", "PodDisruptionBudget", (text) => text.replace("policy/v1", "policy/v0")],
  ];

  it(`would be refused with ${spoilt.map(([what]) => what).join(", ")}`, () => {
    const changed = spoilt.map(([, kind, change]) => {
      const text = JSON.stringify(find(kind));
      expect(change(text)).not.toBe(text);
      return JSON.parse(change(text)) as Manifest;
    });
    const faults = faultsOf(changed);
    expect(faults.map((lines, index) => (lines.length > 0 ? "refused" : spoilt[index]?.[0]))).toEqual(
      spoilt.map(() => "refused"),
    );
    expect(faults[0]?.[0]).toContain("readynessProbe");
  });

  it.skipIf(!isInstalled("kubectl"))("are put together by kubectl (skipped without kubectl)", () => {
    const built = execFileSync("kubectl", ["kustomize", folder], { encoding: "utf8" });
    const names = parseAllDocuments(built).map((document) => document.toJS() as Manifest);
    const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
    expect(names.map(nameOf).toSorted()).toEqual(manifests.map(nameOf).toSorted());
  });

  it("select the pods by their label", () => {
    const labels = spec.template.metadata.labels;
    const selectors = [
      spec.selector.matchLabels,
      find("Service").spec.selector,
      find("Service", "petstore-pods").spec.selector,
      find("PodDisruptionBudget").spec.selector.matchLabels,
      find("NetworkPolicy").spec.podSelector.matchLabels,
      ...pod.topologySpreadConstraints.map(({ labelSelector }: { labelSelector: { matchLabels: object } }) => {
        return labelSelector.matchLabels;
      }),
    ];
    expect(selectors).toEqual(selectors.map(() => labels));
    expect(find("HorizontalPodAutoscaler").spec.scaleTargetRef.name).toBe(find("Deployment").metadata.name);
  });

  it("name ports that there are, with the service's own numbers", () => {
    const ports = Object.fromEntries(
      container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
    );
    expect(ports).toEqual({ api: settings.port.defaultValue, ops: settings.opsPort.defaultValue });
    const named = [find("Service"), find("Service", "petstore-pods")].flatMap(({ spec: { ports: all } }) =>
      all.map(({ targetPort }: { targetPort: string }) => targetPort),
    );
    expect(named.filter((name) => !(name in ports))).toEqual([]);
  });

  it("probe the process for life, and the stores for calls", () => {
    expect(container.startupProbe.httpGet).toEqual({ path: "/healthz", port: "ops" });
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "ops" });
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "ops" });
  });

  it("give a pod longer to end than it takes", () => {
    const lastCountersSeconds = 3;
    const seconds =
      container.lifecycle.preStop.sleep.seconds + settings.shutdownGrace.defaultValue / 1_000 + lastCountersSeconds;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds);
  });

  it("confine the pods as the image is meant to be", () => {
    const user = Number(/^USER (\d+):\d+$/m.exec(readFileSync(join(projectRoot, "Dockerfile"), "utf8"))?.[1]);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: user,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
  });

  it("set settings that there are, and keep Kubernetes from setting others", () => {
    const variables = [
      ...Object.keys(find("ConfigMap").data),
      ...container.env.map(({ name }: { name: string }) => name),
    ];
    expect(variables.filter((name) => !settingKeys.map(variableOf).includes(name))).toEqual([]);
    // A Service of this name would set PETSTORE_PORT.
    expect(pod.enableServiceLinks).toBe(false);
  });

  it("hold no secret: what is secret comes from a Secret that is not among them", () => {
    expect(manifests.map(({ kind }) => kind)).not.toContain("Secret");
    const secret = ["PETSTORE_DATABASE", "PETSTORE_LIMITS", "PETSTORE_SECRET_KEY"];
    const given = container.env.filter(({ name }: { name: string }) => secret.includes(name));
    expect(given.map(({ valueFrom }: { valueFrom: object }) => Object.keys(valueFrom))).toEqual(
      secret.map(() => ["secretKeyRef"]),
    );
  });
});

interface RelabelRule {
  readonly source_labels: readonly string[];
  readonly regex: string;
  readonly action: string;
}

describe("the configuration of Prometheus for Kubernetes", () => {
  const operations = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");
  const [, text = ""] = /```yaml\n(scrape_configs:\n[^`]*role: pod[^`]*)```/.exec(operations) ?? [];
  const [{ relabel_configs: rules }] = parse(text).scrape_configs as [{ relabel_configs: RelabelRule[] }];

  /** Whether Prometheus asks a port of the deployment's pod in a phase. */
  function isAsked(portName: string, phase: string): boolean {
    const labels: Readonly<Record<string, string>> = {
      __meta_kubernetes_pod_label_app_kubernetes_io_name: spec.template.metadata.labels["app.kubernetes.io/name"],
      __meta_kubernetes_pod_container_port_name: portName,
      __meta_kubernetes_pod_phase: phase,
    };
    const matches = ({ source_labels, regex }: RelabelRule) =>
      new RegExp(`^(?:${regex})$`).test(source_labels.map((label) => labels[label]).join(";"));
    return rules
      .filter(({ action }) => ["keep", "drop"].includes(action))
      .every((rule) => matches(rule) === (rule.action === "keep"));
  }

  it("has it ask each pod that has not ended, at the operator's port alone", () => {
    const phases = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];
    expect(phases.filter((phase) => isAsked("ops", phase))).toEqual(["Pending", "Running", "Unknown"]);
    expect(phases.filter((phase) => isAsked("api", phase))).toEqual([]);
  });
});
