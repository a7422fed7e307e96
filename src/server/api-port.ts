import { mayHoldSecret } from "../domain/key.ts";
import { createClientAddress } from "../http/client-address.ts";
import type { Exchange } from "../http/exchange.ts";
import { listen } from "../http/listener.ts";
import type { Tracing } from "../observability/tracing.ts";
import { createSite } from "../reference/site.ts";
import { throttle } from "../scheduling/timing.ts";
import { healthService } from "../services/grpc-tools.ts";
import { apiServices, createApi } from "./api.ts";
import type { Backend } from "./backend.ts";
import type { ServerConfig } from "./config.ts";
import { createCors } from "./cors.ts";
import { createRouter } from "./router.ts";
import type { ServerLife } from "./server-life.ts";
import { portUrl, type Telemetry } from "./telemetry.ts";
import { createConnectServices, createHealthCalls } from "./tool-services.ts";

/** The port that serves the API, its reference, and the tools of gRPC. */
interface ApiPort {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Loads what the first calls would wait for. */
  prepare(): Promise<unknown>;
}

type Handler = (exchange: Exchange) => Promise<void>;

/** Opens the port, and listens for calls. When the port is closed, running calls may finish within the life's grace. */
export async function openApiPort(
  config: ServerConfig,
  life: ServerLife,
  telemetry: Telemetry,
  backend: Backend,
): Promise<ApiPort> {
  const { logger, tracing, observability } = telemetry;
  const { limiter } = backend;
  const { observer } = observability;
  const { stopping } = life;
  const api = createApi({
    ...config,
    ...backend,
    clock: life.clock,
    stopping,
    observeLag: observability.streamLag.distributed,
    logger,
  });
  observability.watchList(api.listCache);
  observability.watchStreams(api.streams);
  const serviceNames = apiServices.map(({ typeName }) => typeName);
  const health = healthService({ serviceNames, stopping });
  const healthCalls = createHealthCalls(health, api.toError);
  const ownUrl = () => portUrl(config.tls === undefined ? "http" : "https", config.host, listener.address);
  const router = createRouter({
    api,
    health: healthCalls,
    connectServices: createConnectServices({
      ...config,
      services: apiServices,
      health,
      calls: healthCalls,
      stopping,
    }),
    site: createSite({ baseUrls: config.baseUrls, services: apiServices, ownOrigin: ownUrl }),
    cors: createCors(config.corsOrigins),
    limiter,
    logger,
    observer,
  });
  const listener = await listen({
    ...config,
    clientAddress: createClientAddress(config.trustedProxies),
    mayHoldSecret,
    handle: traced(tracing, router),
    reportAcceptError: telemetry.reportAcceptError,
    reportBurst: throttle((peerAddress) =>
      logger.warn({ peerAddress }, "a connection was closed: it opened too many streams at once"),
    ),
  });
  life.endAtStop(async () => {
    await listener.close(life.grace.leftMs);
    // After the last call, and before the server waits for the store, which may hang.
    api.flushLog();
    observability.flushLog();
  });
  return { url: ownUrl(), prepare: () => api.prepare() };
}

/** Without tracing, nothing stands between the listener and the router. */
function traced(tracing: Tracing | undefined, handle: Handler): Handler {
  return tracing === undefined ? handle : (exchange) => tracing.run(exchange, () => handle(exchange));
}
