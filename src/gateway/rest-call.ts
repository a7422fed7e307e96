import type { ConnectError } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import type { ProtocolCall, ToError } from "../rpc/answer-call.ts";
import type { CallResponse } from "../rpc/call.ts";
import { readNotFound } from "../rpc/not-found-endpoint.ts";
import { type ErrorBody, errorAnswer, optionsAnswer, streamAnswer, unaryAnswer } from "./answer.ts";
import { type RoutedRequest, readRequest } from "./request.ts";

/** How errors are answered over REST. */
export interface RestErrors {
  /** Converts any failure to an error that clients may see. */
  readonly toError: ToError;
  readonly errorBody: ErrorBody;
}

const protocolName = "rest";

/** A call over REST. */
export class RestCall implements ProtocolCall {
  readonly exchange: Exchange;
  readonly protocolName = protocolName;
  readonly timeoutMs = undefined;
  readonly #request: RoutedRequest;
  readonly #errors: RestErrors;

  constructor(request: RoutedRequest, errors: RestErrors) {
    this.exchange = request.exchange;
    this.#request = request;
    this.#errors = errors;
  }

  read(signal: AbortSignal | undefined) {
    return readRequest(this.#request, signal);
  }

  answer(response: CallResponse, header: HeaderList): Promise<Answer> {
    return response.stream
      ? streamAnswer(this.#request, { response, header, ...this.#errors })
      : unaryAnswer(this.#request, response, header);
  }

  async fail(error: ConnectError, header: HeaderList): Promise<Answer> {
    return errorAnswer(error, header, this.#errors.errorBody);
  }
}

/** A request over REST that no route takes. `refusal` is undefined for OPTIONS on a known path. */
export function notFoundCall(
  exchange: Exchange,
  { refusal, allow }: { readonly refusal: Error | undefined; readonly allow: string },
  errorBody: ErrorBody,
): ProtocolCall {
  return {
    exchange,
    protocolName,
    timeoutMs: undefined,
    read: () => readNotFound(refusal),
    answer: async (_response, header) => optionsAnswer(header, allow),
    fail: async (error, header) => errorAnswer(error, header, errorBody),
  };
}
