import type { DescMessage, DescMethod, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type {
  ContextKey,
  ContextValues,
  HandlerContext,
  StreamRequest,
  StreamResponse,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
import { createLinkedAbortController } from "@connectrpc/connect/protocol";
import type { Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { MessageGroup } from "./message-group.ts";
import type { PreparedMessage } from "./prepared-message.ts";

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
  readonly signals: CallSignals;
  /** Undefined until it has been read. */
  message: AnyMessage | undefined = undefined;
  readonly contextValues: ContextValues = new CallValues();
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

  constructor(method: DescMethodUnary, head: CallHead) {
    this.method = method;
    this.exchange = head.exchange;
    this.head = head;
    this.signals = new CallSignals(head.exchange, head.timeoutMs);
    if ((method as { readonly methodKind: string }).methodKind !== "unary") {
      // Before any interceptor sees the signal: one may pass on another that is made of it.
      void this.signals.ending;
    }
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

  /** In whole milliseconds, as Connect has it. */
  readonly timeoutMs = (): number | undefined => {
    const { deadline } = this.signals;
    return deadline && deadline.atMs - Date.now();
  };

  /** The lines of a request header, by its lower-case name. */
  headerLines(name: string): readonly string[] {
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

function urlOf({ scheme, authority = "", path, query }: Exchange): string {
  return `${scheme}://${authority}${path}${query === "" ? "" : `?${query}`}`;
}

/** The values that interceptors leave for one another: own properties, as in Connect's, so that they can be copied. */
class CallValues implements ContextValues {
  [id: symbol]: unknown;

  get<T>({ id, defaultValue }: ContextKey<T>): T {
    return id in this ? (this[id] as T) : defaultValue;
  }

  set<T>({ id }: ContextKey<T>, value: T): this {
    this[id] = value;
    return this;
  }

  delete({ id }: ContextKey<unknown>): this {
    delete this[id];
    return this;
  }
}

/** What ends a call early: its deadline, a client that goes away, and an interceptor that ends it. */
class CallSignals {
  /** Undefined when there is none. */
  readonly deadline: Deadline | undefined;
  readonly #exchange: Exchange;
  #ending: AbortController | undefined;
  #all: AbortSignal | undefined;

  /** `timeoutMs` runs from now on; undefined for no deadline. */
  constructor(exchange: Exchange, timeoutMs: number | undefined) {
    this.#exchange = exchange;
    this.deadline = timeoutMs === undefined ? undefined : startDeadline(timeoutMs);
  }

  /** Ends the call when it is aborted. An interceptor asks for it before it passes the call on. */
  get ending(): AbortController {
    this.#ending ??= new AbortController();
    return this.#ending;
  }

  /** Aborts at the deadline, when the client goes away, and when the call is ended. */
  get all(): AbortSignal {
    this.#all ??=
      this.deadline === undefined && this.#ending === undefined
        ? this.#exchange.signal
        : createLinkedAbortController(this.deadline?.signal, this.#ending?.signal, this.#exchange.signal).signal;
    return this.#all;
  }
}

/** The moment at which a call's time is over. */
export interface Deadline {
  /** In milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** Stops the clock of a call that has been answered. */
  end(): void;
}

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
