import { type AdjustableLevel, isLogLevel, logLevels } from "../observability/log-level.ts";
import type { Observability } from "../observability/observability.ts";
import { type OpsPage, plain } from "./ops-server.ts";
import { createReadiness, type ReadinessOptions } from "./readiness.ts";

/** What the operator's pages show and set. */
export interface OpsPagesOptions extends ReadinessOptions {
  readonly observability: Observability;
  readonly level: AdjustableLevel;
  readonly addresses: () => { readonly url: string; readonly opsUrl: string };
}

/**
 * The pages of the operator's port: `/healthz` answers 200 while the process lives. `/readyz` answers 200 while the
 * server takes requests, its store answers and its limits can be counted, and 503 otherwise. `/metrics` is for Prometheus, `/status` for people's
 * tools. `/log-level` shows and sets the level of the log.
 */
export function createOpsPages(options: OpsPagesOptions): Record<string, OpsPage> {
  const { observability, level, addresses } = options;
  const askReadiness = createReadiness(options);
  observability.watchReadiness(askReadiness);
  return {
    "/healthz": { GET: () => plain(200, "ok") },
    "/readyz": {
      async GET() {
        const readiness = await askReadiness();
        return plain(readiness === "ready" ? 200 : 503, readiness);
      },
    },
    "/metrics": {
      GET: async () => ({ status: 200, ...(await observability.readMetrics()) }),
    },
    "/status": {
      async GET() {
        const status = await observability.status({ addresses: addresses(), readiness: await askReadiness() });
        return { status: 200, type: "application/json", body: `${JSON.stringify(status)}\n` };
      },
    },
    "/log-level": { GET: () => plain(200, level.get()), PUT: (body) => setLogLevel(level, body.trim()) },
  };
}

function setLogLevel(level: AdjustableLevel, name: string) {
  if (!isLogLevel(name)) {
    return plain(400, `use one of ${logLevels.join(", ")}`);
  }
  level.set(name);
  return plain(200, name);
}
