import { type AdjustableLevel, isLogLevel, logLevels } from "../observability/log-level.ts";
import type { Observability } from "../observability/observability.ts";
import { type OpsPage, plain } from "./ops-server.ts";

/** What the operator's pages tell of. */
export interface OpsPagesOptions {
  readonly observability: Observability;
  readonly level: AdjustableLevel;
  readonly isReady: () => boolean;
  readonly addresses: () => { readonly url: string; readonly opsUrl: string };
}

/**
 * The pages of the operator's port: `/healthz` answers 200 while the process lives, `/readyz` while it takes requests
 * and 503 else; `/metrics` is for Prometheus, `/status` for people's tools, and `/log-level` tells and sets how much is
 * logged.
 */
export function createOpsPages({ observability, level, isReady, addresses }: OpsPagesOptions): Record<string, OpsPage> {
  return {
    "/healthz": { GET: () => plain(200, "ok") },
    "/readyz": { GET: () => (isReady() ? plain(200, "ready") : plain(503, "stopping")) },
    "/metrics": {
      GET: async () => ({ status: 200, type: observability.metricsType, body: await observability.metrics() }),
    },
    "/status": {
      async GET() {
        const status = await observability.status({ addresses: addresses(), isReady });
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
