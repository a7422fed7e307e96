import { ConnectError, type Transport } from "@connectrpc/connect";
import { operations } from "../operations.ts";
import { type ApiClient, requestHeaders } from "./client.ts";
import { failureFromConnectError } from "./failure.ts";
import { mergeHeaders } from "./headers.ts";

/** A client over one of Connect's transports. `close` releases its connections. */
export function createTransportClient(transport: Transport, close: () => void): ApiClient {
  return {
    close,
    call: async (operation, input, options = {}) => {
      try {
        const answer = await transport.unary(
          operations[operation] as never,
          undefined,
          undefined,
          requestHeaders(options),
          input as never,
        );
        return { message: answer.message as never, headers: mergeHeaders(answer.header, answer.trailer) };
      } catch (error) {
        if (!(error instanceof ConnectError)) {
          throw error;
        }
        return { failure: failureFromConnectError(error), headers: once(error.metadata) };
      }
    },
  };
}

/** The metadata of an error joins headers and trailers. A value that is in both counts once. */
function once(metadata: Headers): Headers {
  const single = new Headers();
  metadata.forEach((value, name) => {
    const half = value.slice(0, (value.length - 2) / 2);
    single.append(name, value === `${half}, ${half}` ? half : value);
  });
  return single;
}
