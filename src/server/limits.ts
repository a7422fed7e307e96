import { maskCredentials } from "../domain/masking.ts";
import type { Store } from "../domain/store/store.ts";
import type { DeprecatedCallNote } from "../interceptors/deprecation.ts";
import type { RateLimiter } from "../interceptors/limits.ts";
import type { StreamPlaces } from "../interceptors/streams.ts";
import { createAnonymousRateLimiter } from "../rate-limit/anonymous-rate-limiter.ts";
import { createKeyRateLimiter } from "../rate-limit/key-rate-limiter.ts";
import type { SharedLimitsOptions } from "../rate-limit/redis/open.ts";
import { throttle } from "../scheduling/timing.ts";
import { inMemory, type ServerConfig } from "./config.ts";
import type { ServerLife } from "./server-life.ts";
import { failureReportMs, type Telemetry } from "./telemetry.ts";

/** How a server counts. */
export interface Limits {
  readonly limiter: RateLimiter;
  readonly noteDeprecatedCall: DeprecatedCallNote;
  /** The places for streams that servers share; undefined where each counts its own. */
  readonly streamPlaces: StreamPlaces | undefined;
  /** Whether requests can be counted, or may be admitted without. */
  canCount(): boolean;
}

/** Counts in memory, or has Valkey count. Rejects with `UnusableValkeyError` for a server that cannot be used. */
export async function openLimits(
  config: ServerConfig,
  life: ServerLife,
  telemetry: Telemetry,
  store: Store,
): Promise<Limits> {
  const report = throttle(failureReportMs, (reason) =>
    telemetry.logger.error({ err: reason }, "the rate-limit counters could not be saved; the server tries again"),
  );
  const { clock, held } = life;
  const { decided } = telemetry.observability.limits;
  const options: LimiterOptions = { store, clock, decided, report };
  if (config.limits !== inMemory) {
    return await openSharedLimits(config, life, telemetry, options);
  }
  const keys = createKeyRateLimiter({ store, clock, decided, report });
  held.defer(() => keys.close());
  return {
    limiter: { keys, anonymous: createAnonymousRateLimiter(clock, decided) },
    noteDeprecatedCall: (key, method) => keys.noteDeprecatedCall(key, method),
    streamPlaces: undefined,
    canCount: () => true,
  };
}

type LimiterOptions = Pick<SharedLimitsOptions, "store" | "clock" | "decided" | "report">;

async function openSharedLimits(
  { limits: url, limitsFallback }: ServerConfig,
  { held }: ServerLife,
  { observability, logger }: Telemetry,
  options: LimiterOptions,
): Promise<Limits> {
  const { sharedLimits } = observability;
  // The client of Valkey is loaded where there is one: it takes as much memory as a fifth of the server.
  const redis = await import("../rate-limit/redis/open.ts");
  const isFallbackLocal = limitsFallback === "local";
  const limits = maskCredentials(url);
  const meanwhile = isFallbackLocal ? "this server counts by itself" : "requests are refused";
  let wasHere: boolean | undefined;
  const shared = await redis.openSharedLimits({
    ...options,
    url,
    isFallbackLocal,
    observer: {
      away(reason) {
        if (wasHere !== false) {
          logger.warn({ limits, err: reason }, `limits: Valkey does not answer; ${meanwhile} until it does`);
        }
        wasHere = false;
        sharedLimits.away(reason);
      },
      here({ risks }) {
        if (wasHere === undefined) {
          for (const risk of risks) {
            logger.warn({ limits }, `limits: ${risk}`);
          }
        } else {
          logger.info({ limits }, "limits: Valkey answers again; it counts for all servers");
        }
        wasHere = true;
        sharedLimits.here();
      },
      roundTrip: sharedLimits.roundTrip,
    },
  });
  held.defer(() => shared.close());
  sharedLimits.watch({ url: limits, fallback: limitsFallback, localDecisions: () => shared.localDecisions });
  return {
    limiter: shared,
    noteDeprecatedCall: (key, method) => shared.keys.noteDeprecatedCall(key, method),
    streamPlaces: shared.places,
    canCount: () => isFallbackLocal || shared.isHere,
  };
}
