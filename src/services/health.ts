import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as ServingStatus } from "../../gen/grpc/health/v1/health_pb.ts";

/** What the health service needs. */
interface HealthOptions {
  /** The full names of the services that are served. */
  readonly serviceNames: readonly string[];
  /** Aborts when the server stops serving. */
  readonly stopping: AbortSignal;
}

/**
 * The standard health service, for all services together (the empty name) and for each by name.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function healthService({ serviceNames, stopping }: HealthOptions): ServiceImpl<typeof Health> {
  const known = ["", ...serviceNames];

  function current() {
    return { status: stopping.aborted ? ServingStatus.NOT_SERVING : ServingStatus.SERVING };
  }

  return {
    check({ service }) {
      if (!known.includes(service)) {
        throw new ConnectError("There is no service of this name.", Code.NotFound);
      }
      return current();
    },

    list() {
      return { statuses: Object.fromEntries(known.map((service) => [service, current()])) };
    },

    // The status changes only once, when the server stops, which also ends the stream.
    async *watch({ service }, { signal }) {
      const isKnown = known.includes(service);
      yield isKnown ? current() : { status: ServingStatus.SERVICE_UNKNOWN };
      if (!stopping.aborted) {
        await aborted(AbortSignal.any([signal, stopping]));
        if (isKnown && stopping.aborted) {
          yield current();
        }
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener("abort", () => resolve(), { once: true });
    }
  });
}
