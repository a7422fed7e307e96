import type { TestServer } from "./server.ts";

/**
 * What `/metrics` tells: values by their series, such as `petstore_calls_total{code="OK",method="…",protocol="rest"}`.
 */
export class Metrics {
  readonly text: string;
  /** The series of each metric, with their values. */
  readonly #series = new Map<string, Map<string, number>>();

  constructor(text: string) {
    this.text = text;
    for (const line of text.split("\n")) {
      if (line !== "" && !line.startsWith("#")) {
        const end = line.lastIndexOf(" ");
        this.#add(line.slice(0, end), Number(line.slice(end + 1)));
      }
    }
  }

  /** The names of all series, without their labels. */
  get names(): ReadonlySet<string> {
    return new Set(this.#series.keys());
  }

  /** The sum of the series of a metric that have these labels, among others. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const parts = Object.entries(labels).map(([label, value]) => labelPattern(label, escapeRegExp(value)));
    let sum = 0;
    for (const [series, value] of this.#series.get(name) ?? []) {
      sum += parts.every((part) => part.test(series)) ? value : 0;
    }
    return sum;
  }

  /** All values of a label in the series of a metric. */
  valuesOf(name: string, label: string): readonly string[] {
    const pattern = labelPattern(label, '[^"]*');
    const series = [...(this.#series.get(name)?.keys() ?? [])].filter((each) => each !== name);
    return [...new Set(series.map((each) => pattern.exec(each)?.[1] ?? ""))];
  }

  #add(series: string, value: number): void {
    const [name = ""] = series.split("{", 1);
    const known = this.#series.get(name) ?? new Map<string, number>();
    this.#series.set(name, known.set(series, value));
  }
}

/** Asks a server for its metrics. */
export async function readMetrics({ opsOrigin }: TestServer): Promise<Metrics> {
  return new Metrics(await (await fetch(`${opsOrigin}/metrics`)).text());
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Matches a series with a label of this value, which is its first group. */
function labelPattern(label: string, value: string): RegExp {
  return new RegExp(`[{,]${label}="(${value})"[,}]`);
}
