import { ConnectError, type Transport } from "@connectrpc/connect";
import { operations } from "../operations.ts";
import { type ApiClient, requestHeaders } from "./client.ts";
import { failureFromConnectError } from "./failure.ts";

/** A client over any of Connect's transports; `close` gives back what the transport holds. */
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
        return { message: answer.message as never, headers: merge(answer.header, answer.trailer) };
      } catch (error) {
        if (!(error instanceof ConnectError)) {
          throw error;
        }
        return { failure: failureFromConnectError(error), headers: error.metadata };
      }
    },
  };
}

function merge(header: Headers, trailer: Headers): Headers {
  const merged = new Headers(header);
  trailer.forEach((value, name) => {
    merged.append(name, value);
  });
  return merged;
}
