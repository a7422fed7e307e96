import type { TestServer } from "./server.ts";

/**
 * What `/metrics` tells: values by their series, such as `petstore_calls_total{code="OK",method="…",protocol="rest"}`.
 */
export class Metrics {
  readonly text: string;
  readonly #values: ReadonlyMap<string, number>;

  constructor(text: string) {
    this.text = text;
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    this.#values = new Map(
      lines.map((line) => {
        const end = line.lastIndexOf(" ");
        return [line.slice(0, end), Number(line.slice(end + 1))];
      }),
    );
  }

  /** The names of all series, without their labels. */
  get names(): ReadonlySet<string> {
    return new Set([...this.#values.keys()].map((series) => series.replace(/\{.*/s, "")));
  }

  /** The sum of the series of a metric that have these labels, among others. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const parts = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const has = (series: string) => parts.every((part) => new RegExp(`[{,]${escapeRegExp(part)}[,}]`).test(series));
    const found = [...this.#values].filter(([series]) => series.replace(/\{.*/s, "") === name && has(series));
    return found.reduce((sum, [, value]) => sum + value, 0);
  }

  /** All values of a label in the series of a metric. */
  valuesOf(name: string, label: string): readonly string[] {
    const series = [...this.#values.keys()].filter((key) => key.startsWith(`${name}{`));
    return [...new Set(series.map((key) => new RegExp(`[{,]${label}="([^"]*)"`).exec(key)?.[1] ?? ""))];
  }
}

/** Asks a server for its metrics. */
export async function readMetrics({ opsOrigin }: TestServer): Promise<Metrics> {
  return new Metrics(await (await fetch(`${opsOrigin}/metrics`)).text());
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
