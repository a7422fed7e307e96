import type { DescMessage, DescMethod, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import {
  type ConnectError,
  type ContextValues,
  createContextValues,
  type HandlerContext,
  type StreamRequest,
  type StreamResponse,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { Endpoint } from "./endpoint.ts";
import type { MessageGroup, PreparedMessage } from "./prepared-message.ts";

type AnyMessage = MessageShape<DescMessage>;

/** What a protocol knows of a call when the headers have arrived. */
export interface CallHead {
  readonly exchange: Exchange;
  /** The protocol's name, such as `rest` or `grpc`. */
  readonly protocolName: string;
  /** From the headers on, in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
  /** Reads and decodes the message. Throws `ProtocolError`, or the reason of `signal`. */
  read(signal: AbortSignal | undefined): Promise<AnyMessage>;
}

/** A call as its protocol reads and answers it. */
export interface ProtocolCall extends CallHead {
  /** Makes the answer with a response. `header` is the answer's own. */
  answer(response: CallResponse, header: HeaderList): Promise<Answer>;
  /** Makes the answer with an error and its metadata. `header` and `trailer` are what the call has set before. */
  fail(error: ConnectError, header: HeaderList, trailer: Headers): Promise<Answer>;
}

/** The response to a call, on its way back through the interceptors. */
export type CallResponse = UnaryCallResponse | StreamCallResponse;

/** The response to a unary call. Unlike Connect's, its message may be prepared. */
export interface UnaryCallResponse extends Pick<UnaryResponse, "stream" | "header" | "trailer"> {
  readonly message: AnyMessage | PreparedMessage;
}

/** The response to a streaming call. Unlike in Connect's, several of its messages may be one group. */
export interface StreamCallResponse extends Pick<StreamResponse, "stream" | "header" | "trailer"> {
  readonly message: AsyncIterable<AnyMessage | MessageGroup>;
}

/**
 * Answers a call. It rejects where the call fails, and never throws synchronously. A link with nothing to wait for gives
 * back the next one's promise: each `async` function on the way costs a call about half a kilobyte.
 */
export type CallHandler = (call: Call) => Promise<CallResponse>;

/**
 * An interceptor of the project's own. It sees the call, which knows more than the request of a Connect interceptor:
 * the exchange that carries it, and the headers of the answer.
 */
export interface CallInterceptor {
  /** Puts itself before the next link for all calls of a method; gives `next` back where it has nothing to do. */
  wrap(next: CallHandler, method: DescMethod): CallHandler;
}

/** Converts any failure of an exchange to the error that clients see, and notes it. */
export type ToError = (reason: unknown, exchange: Exchange) => ConnectError;

/** The one way of every call over every protocol, and the one place where its errors become what clients see. */
export async function answerCall(endpoint: Endpoint, protocol: ProtocolCall, toError: ToError): Promise<Answer> {
  const { exchange } = protocol;
  const call = new Call(endpoint.method as Call["method"], protocol);
  exchange.record.protocol = protocol.protocolName;
  exchange.record.method = endpoint.name;
  let header = call.responseHeader;
  try {
    const response = await endpoint.handle(call);
    header = response.header;
    if (response.stream) {
      exchange.record.isStream = true;
    } else {
      call.deadline?.end();
    }
    // A new list: an interceptor may give the same headers to several calls.
    return await protocol.answer(response, HeaderList.of(header, call.answerHeader));
  } catch (reason) {
    call.deadline?.end();
    const error = toError(reason, exchange);
    return await protocol.fail(error, HeaderList.of(header, call.answerHeader), call.responseTrailer);
  }
}

/** A request as a Connect interceptor passes it on. */
export type ConnectRequest = UnaryRequest | StreamRequest;

/**
 * A call on its way to the implementation, whose context it is. Signals and `Headers` are made when they are first
 * asked for: they cost more than the rest of a small call.
 */
export class Call implements HandlerContext {
  readonly method: DescMethodUnary;
  readonly exchange: Exchange;
  readonly head: CallHead;
  /** It runs from now on; undefined where there is none. */
  readonly deadline: Deadline | undefined;
  /** Undefined until it has been read. */
  message: AnyMessage | undefined = undefined;
  readonly contextValues: ContextValues = createContextValues();
  readonly responseHeader: Headers = new HeaderList();
  readonly responseTrailer: Headers = new HeaderList();
  /** The headers that the answer carries whether the call succeeds or fails. */
  readonly answerHeader = new HeaderList();
  /** What a Connect interceptor has passed on last; undefined when there is none in the chain. */
  readonly passedOn: ConnectRequest | undefined = undefined;
  /** The call as it arrived; this one may be a copy. */
  readonly original: Call = this;
  /** The reading of the message, once it has begun. Only the original has it. */
  reading: Promise<AnyMessage> | undefined = undefined;
  #signals: CallSignals | undefined;

  constructor(method: DescMethodUnary, head: CallHead) {
    this.method = method;
    this.exchange = head.exchange;
    this.head = head;
    this.deadline = head.timeoutMs === undefined ? undefined : startDeadline(head.timeoutMs);
    if ((method as { readonly methodKind: string }).methodKind !== "unary") {
      // Before any interceptor sees the signal: one may pass on another that is made of it.
      void this.signals.ending;
    }
  }

  get signals(): CallSignals {
    const { original } = this;
    original.#signals ??= new CallSignals(this.exchange, this.deadline);
    return original.#signals;
  }

  get service() {
    return this.method.parent;
  }

  get protocolName(): string {
    return this.head.protocolName;
  }

  get requestMethod(): string {
    return this.passedOn?.requestMethod ?? this.exchange.method;
  }

  get url(): string {
    return this.passedOn?.url ?? urlOf(this.exchange);
  }

  get requestHeader(): Headers {
    return this.passedOn?.header ?? this.exchange.requestHeader;
  }

  get values(): ContextValues {
    return this.contextValues;
  }

  /** Aborts at the deadline, when the client goes away, and when an interceptor ends the call. */
  get signal(): AbortSignal {
    return this.passedOn?.signal ?? this.signals.all;
  }

  /** Returns a function, because handlers may take it off their context. In whole milliseconds, as Connect has it. */
  get timeoutMs(): () => number | undefined {
    const { deadline } = this;
    return deadline === undefined ? hasNoTimeout : () => deadline.atMs - Date.now();
  }

  /** The lines of a request header, by its lower-case name. */
  headerLines(name: Lowercase<string>): readonly string[] {
    return this.passedOn === undefined
      ? this.exchange.headerLines(name)
      : (this.passedOn.header.get(name)?.split(", ") ?? []);
  }

  /** The same call as a Connect interceptor passes it on. `message` is undefined where it is still to be read. */
  withRequest(passedOn: ConnectRequest, message: AnyMessage | undefined): Call {
    const { contextValues } = passedOn;
    return Object.assign(Object.create(Call.prototype), this, { passedOn, contextValues, message });
  }
}

const hasNoTimeout = () => undefined;

function urlOf({ scheme, authority = "", path, query }: Exchange): string {
  return `${scheme}://${authority}${path}${query === "" ? "" : `?${query}`}`;
}

/** What ends a call early: its deadline, a client that goes away, and an interceptor that ends it. */
class CallSignals {
  readonly #exchange: Exchange;
  readonly #deadline: Deadline | undefined;
  #ending: AbortController | undefined;
  #all: AbortSignal | undefined;

  constructor(exchange: Exchange, deadline: Deadline | undefined) {
    this.#exchange = exchange;
    this.#deadline = deadline;
  }

  /** Ends the call when it is aborted. An interceptor asks for it before it passes the call on. */
  get ending(): AbortController {
    this.#ending ??= new AbortController();
    return this.#ending;
  }

  /** Aborts at the deadline, when the client goes away, and when the call is ended. */
  get all(): AbortSignal {
    this.#all ??=
      this.#deadline === undefined && this.#ending === undefined
        ? this.#exchange.signal
        : createLinkedAbortController(this.#deadline?.signal, this.#ending?.signal, this.#exchange.signal).signal;
    return this.#all;
  }
}

/** The moment at which a call's time is over. */
interface Deadline {
  /** In milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** Stops the clock of a call that has been answered. */
  end(): void;
}

/** Starts the clock of a call. */
function startDeadline(timeoutMs: number): Deadline {
  const controller = new AbortController();
  const pass = () => controller.abort(deadlineExceeded());
  const timer = timeoutMs > 0 ? setTimeout(pass, timeoutMs) : undefined;
  if (timer === undefined) {
    pass();
  }
  const { signal } = controller;
  return { atMs: Date.now() + Math.trunc(timeoutMs), signal, end: () => clearTimeout(timer) };
}

/** Connect's own error would not tell the caller what to do next. */
function deadlineExceeded(): ProtocolError {
  return new ProtocolError("deadline_exceeded", "The deadline has passed. Nothing was changed; allow more time.");
}
