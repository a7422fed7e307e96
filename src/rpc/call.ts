import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from "@bufbuild/protobuf";
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
import { abortable } from "../scheduling/timing.ts";
import type { Endpoint } from "./endpoint.ts";
import { type MessageGroup, PreparedMessage } from "./prepared-message.ts";

type AnyMessage = MessageShape<DescMessage>;

/** What a protocol knows about a call when the headers have arrived. */
interface CallHead {
  readonly exchange: Exchange;
  /** The protocol's name, such as `rest` or `grpc`. */
  readonly protocolName: string;
  /** How long the call may take from its headers on, in milliseconds; undefined if it has no deadline. */
  readonly timeoutMs: number | undefined;
  /** Reads and decodes the message. Throws `ProtocolError`, or the reason of `signal`. */
  read(signal: AbortSignal | undefined): Promise<AnyMessage>;
}

/** A call as its protocol reads and answers it. */
export interface ProtocolCall extends CallHead {
  /** Makes the answer from a response. It may change `header`, which belongs to this answer alone. */
  answer(response: CallResponse, header: HeaderList): Promise<Answer>;
  /**
   * Makes the answer from an error and its metadata. `header` and `trailer` hold what the call set before it failed.
   */
  fail(error: ConnectError, header: HeaderList, trailer: Headers): Promise<Answer>;
}

/** The response to a call, on its way back through the interceptors. */
export type CallResponse = UnaryCallResponse | StreamCallResponse;

/** The response to a unary call. Unlike Connect's, its message may be a `PreparedMessage`. */
export interface UnaryCallResponse extends Pick<UnaryResponse, "stream" | "header" | "trailer"> {
  readonly message: AnyMessage | PreparedMessage;
}

/** The response to a streaming call. Unlike Connect's, it may yield several messages as one `MessageGroup`. */
export interface StreamCallResponse extends Pick<StreamResponse, "stream" | "header" | "trailer"> {
  readonly message: AsyncIterable<AnyMessage | MessageGroup>;
}

/**
 * Answers a call. It rejects if the call fails, and never throws synchronously. A handler with nothing to await returns
 * the promise of the next one, because each `async` function in the chain costs a call about half a kilobyte.
 */
export type CallHandler = (call: Call) => Promise<CallResponse>;

/**
 * An interceptor in the project's own form. It sees the call, which knows more than the request of a Connect
 * interceptor: the exchange that carries it, and the headers of the answer.
 */
export interface CallInterceptor {
  /** Wraps the next handler for all calls of a method. Returns `next` itself if it has nothing to do for them. */
  wrap(next: CallHandler, method: DescMethod): CallHandler;
}

/** Converts any failure of an exchange to the error that clients see, and records it. */
export type ToError = (reason: unknown, exchange: Exchange) => ConnectError;

/** Answers a call over any protocol. A failure becomes the error that clients see. */
export async function answerCall(endpoint: Endpoint, protocol: ProtocolCall, toError: ToError): Promise<Answer> {
  const { exchange } = protocol;
  const call = new Call(endpoint.method, protocol);
  exchange.record.protocol = protocol.protocolName;
  exchange.record.method = endpoint.name;
  let header = call.responseHeader;
  try {
    const response = await endpoint.handle(call);
    header = response.header;
    exchange.record.isStream = response.stream;
    // The answer gets a new list, because an interceptor may give the same headers to several calls.
    const answerHeader = new HeaderList(header, call.answerHeader);
    const isList = !response.stream && response.message instanceof PreparedMessage;
    // The rest of a list is read only now, and the deadline counts for that, too.
    const answer = isList
      ? await abortable(() => protocol.answer(response, answerHeader), call.deadline?.signal)
      : await protocol.answer(response, answerHeader);
    if (!response.stream) {
      call.deadline?.end();
    }
    return answer;
  } catch (reason) {
    call.deadline?.end();
    const error = toError(reason, exchange);
    return await protocol.fail(error, new HeaderList(header, call.answerHeader), call.responseTrailer);
  }
}

/** A request as a Connect interceptor passes it on. */
export type ConnectRequest = UnaryRequest | StreamRequest;

/** Looks up the lines of a request header. */
type HeaderSource = Pick<Exchange, "headerLines">;

/**
 * A call, which passes the interceptors and becomes the context of the implementation. Signals and `Headers` are
 * created on first use, because they cost more than the rest of a small call.
 */
export class Call implements HandlerContext {
  readonly method: DescMethodUnary | DescMethodServerStreaming;
  readonly exchange: Exchange;
  readonly head: CallHead;
  /** Has the headers of the request: the exchange, or what a Connect interceptor passed on. */
  readonly headerSource: HeaderSource;
  /** It starts with the construction of the call; undefined if the call has none. */
  readonly deadline: Deadline | undefined;
  /** Undefined until it has been read. */
  message: AnyMessage | undefined = undefined;
  readonly contextValues: ContextValues = createContextValues();
  readonly responseHeader: Headers = new HeaderList();
  readonly responseTrailer: Headers = new HeaderList();
  /** The headers that the answer carries whether the call succeeds or fails. */
  readonly answerHeader = new HeaderList();
  /** The request that a Connect interceptor passed on last; undefined if none has run. */
  readonly passedOn: ConnectRequest | undefined = undefined;
  /** The call as it arrived; this one may be a copy. */
  readonly original: Call = this;
  /** The promise of the message, once its reading has begun. Only the original call has it. */
  reading: Promise<AnyMessage> | undefined = undefined;
  #signals: CallSignals | undefined;

  constructor(method: Call["method"], head: CallHead) {
    this.method = method;
    this.exchange = head.exchange;
    this.headerSource = head.exchange;
    this.head = head;
    this.deadline = head.timeoutMs === undefined ? undefined : startDeadline(head.timeoutMs);
    if (method.methodKind !== "unary") {
      // `ending` must exist before an interceptor sees the signal: the interceptor may pass on a signal that it derives
      // from it.
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

  /**
   * Returns a function that does not use `this`, because handlers may detach it from their context. The time that is
   * left is in whole milliseconds, as in Connect.
   */
  get timeoutMs(): () => number | undefined {
    const { deadline } = this;
    return deadline === undefined ? hasNoTimeout : () => Math.ceil(deadline.atMs - performance.now());
  }

  /**
   * Copies the call with the request that a Connect interceptor passes on. `message` is undefined if it has not been
   * read.
   */
  withRequest(passedOn: ConnectRequest, message: AnyMessage | undefined): Call {
    const { contextValues, header } = passedOn;
    const headerSource: HeaderSource = { headerLines: (name) => header.get(name)?.split(", ") ?? [] };
    return Object.assign(Object.create(Call.prototype), this, { passedOn, contextValues, headerSource, message });
  }
}

const hasNoTimeout = () => undefined;

function urlOf({ scheme, authority = "", path, query }: Exchange): string {
  return `${scheme}://${authority}${path}${query === "" ? "" : `?${query}`}`;
}

/** The signals that end a call early: from its deadline, from a client that goes away, and from an interceptor. */
class CallSignals {
  readonly #exchange: Exchange;
  readonly #deadline: Deadline | undefined;
  #ending: AbortController | undefined;
  #all: AbortSignal | undefined;

  constructor(exchange: Exchange, deadline: Deadline | undefined) {
    this.#exchange = exchange;
    this.#deadline = deadline;
  }

  /** Ends the call when it is aborted. An interceptor must get it before it passes the call on. */
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

/** The deadline of a call, with its timer. */
interface Deadline {
  /** By `performance.now()`, which no change of the system's clock moves. */
  readonly atMs: number;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** Stops the timer of a call that has been answered, or that nobody waits for. */
  end(): void;
}

/** Starts the timer of a deadline. */
function startDeadline(timeoutMs: number): Deadline {
  const controller = new AbortController();
  const pass = () => controller.abort(deadlineExceeded());
  const timer = timeoutMs > 0 ? setTimeout(pass, timeoutMs) : undefined;
  if (timer === undefined) {
    pass();
  }
  const { signal } = controller;
  return { atMs: performance.now() + timeoutMs, signal, end: () => clearTimeout(timer) };
}

/** Connect's own error would not tell the caller what to do next. */
function deadlineExceeded(): ProtocolError {
  return new ProtocolError("deadline_exceeded", "The deadline has passed. Nothing was changed; allow more time.");
}
