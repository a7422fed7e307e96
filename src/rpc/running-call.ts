import type { DescMessage, DescMethod, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  type HandlerContext,
  type UnaryRequest,
} from "@connectrpc/connect";
import { createDeadlineSignal, createLinkedAbortController } from "@connectrpc/connect/protocol";
import type { Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import type { Call } from "./endpoint.ts";

/**
 * A call under way: what interceptors are given as the request, and the implementation as its context. One object is
 * both, and what most calls never ask for (signals, the request's headers as `Headers`) is made when it is asked for:
 * it costs more than all the rest of a call. Interceptors pass it on as it is.
 */
export class RunningCall implements HandlerContext, Omit<UnaryRequest, "method"> {
  readonly stream = false;
  readonly method: DescMethodUnary;
  readonly call: Call;
  /** Empty until it has been read, after the call interceptors. */
  message: MessageShape<DescMessage>;
  readonly contextValues: ContextValues = new CallValues();
  readonly responseHeader: Headers = new HeaderList();
  readonly responseTrailer: Headers;
  /** The headers of the call's answer, whether it succeeds or fails. */
  readonly answerHeader: Headers = new HeaderList();
  readonly #deadline: Deadline | undefined;
  #signal: AbortSignal | undefined;

  constructor(method: DescMethod, call: Call, unread: MessageShape<DescMessage>) {
    this.method = method as DescMethodUnary;
    this.call = call;
    this.message = unread;
    this.responseTrailer = call.responseTrailer ?? new HeaderList();
    this.contextValues.set(runningCallKey, this);
    this.#deadline = call.timeoutMs === undefined ? undefined : startDeadline(call.timeoutMs);
  }

  get exchange(): Exchange {
    return this.call.exchange;
  }

  get service() {
    return this.method.parent;
  }

  get protocolName(): string {
    return this.call.protocolName;
  }

  get requestMethod(): string {
    return this.exchange.method;
  }

  get url(): string {
    return `${this.exchange.scheme}://${this.exchange.authority ?? ""}${this.exchange.path}`;
  }

  get header(): Headers {
    return this.exchange.requestHeader;
  }

  get requestHeader(): Headers {
    return this.exchange.requestHeader;
  }

  get values(): ContextValues {
    return this.contextValues;
  }

  /** Aborts at the deadline, and when the client goes away. */
  get signal(): AbortSignal {
    this.#signal ??=
      this.#deadline === undefined
        ? this.exchange.signal
        : createLinkedAbortController(this.#deadline.signal, this.exchange.signal).signal;
    return this.#signal;
  }

  /** Aborts at the deadline; undefined when there is none. */
  get deadlineSignal(): AbortSignal | undefined {
    return this.#deadline?.signal;
  }

  /** In whole milliseconds, as Connect has it. */
  readonly timeoutMs = (): number | undefined => this.#deadline && this.#deadline.atMs - Date.now();

  /** The call has been answered: it needs its deadline no more. */
  end(): void {
    this.#deadline?.cleanup();
  }
}

const runningCallKey = createContextKey<RunningCall | undefined>(undefined, { description: "running call" });

/** The call that an interceptor's request belongs to. Throws for a request that no endpoint of ours has made. */
export function runningCallOf({ contextValues }: { readonly contextValues: ContextValues }): RunningCall {
  const running = contextValues.get(runningCallKey);
  if (running === undefined) {
    throw new Error("the request was not made by an endpoint");
  }
  return running;
}

/**
 * The exchange that carries a call, for interceptors that need more of it than its headers. Throws as `runningCallOf`.
 */
export function exchangeOf(request: { readonly contextValues: ContextValues }): Exchange {
  return runningCallOf(request).exchange;
}

/** The headers that a call's answer will carry, whether it succeeds or fails. Throws as `runningCallOf`. */
export function answerHeaderOf(request: { readonly contextValues: ContextValues }): Headers {
  return runningCallOf(request).answerHeader;
}

interface Deadline {
  readonly atMs: number;
  readonly signal: AbortSignal;
  cleanup(): void;
}

function startDeadline(timeoutMs: number): Deadline {
  return { atMs: Date.now() + Math.trunc(timeoutMs), ...createDeadlineSignal(timeoutMs) };
}

/** The values that interceptors leave for one another. */
class CallValues implements ContextValues {
  readonly #values: Record<symbol, unknown> = {};

  get<T>({ id, defaultValue }: ContextKey<T>): T {
    return id in this.#values ? (this.#values[id] as T) : defaultValue;
  }

  set<T>({ id }: ContextKey<T>, value: T): this {
    this.#values[id] = value;
    return this;
  }

  delete({ id }: ContextKey<unknown>): this {
    delete this.#values[id];
    return this;
  }
}
