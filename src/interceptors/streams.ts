import type { DescMethod } from "@bufbuild/protobuf";
import {
  DomainError,
  isUnavailable,
  scopeMissing,
  serverStopping,
  tooManyStreams,
  tooManyStreamsInAll,
} from "../domain/errors.ts";
import { type FoundKey, refusalOf } from "../domain/key.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Call, CallHandler, CallInterceptor, CallResponse, StreamCallResponse } from "../rpc/call.ts";
import { callerKey, type Identify } from "./auth.ts";
import { uncountedRefusal } from "./limits.ts";
import { operationOf } from "./operation.ts";

/** How many streams a key may have open. Source: docs/contract.md#watching */
export const maxStreamsOfKey = 32;

/** How many streams of keys may be open in all. They take some 300 MB. */
const maxStreams = 8_192;

/**
 * How often the streams are checked for keys that have expired, and for keys that the store could not tell, in
 * milliseconds. A stream ends within a second of its key.
 */
const keyCheckMs = 500;

/** How many look-ups of keys run at the same time. PostgreSQL lets some 1,000 wait, which calls share. */
const maxLookUps = 256;

/** How long a client may take to read the end of an open stream, in milliseconds. Then its exchange is aborted. */
const lastReadMs = 500;

/** A place for a stream of a key. */
export interface StreamPlace {
  /** Gives the place back. */
  leave(): void;
}

/** The places for streams of keys, which several servers share. */
export interface StreamPlaces {
  /**
   * Takes a place for a stream of a key. Resolves to undefined if the key already has `max` over all servers. Rejects
   * with `UNAVAILABLE` if nobody can tell.
   */
  take(keyId: string, max: number): Promise<StreamPlace | undefined>;
}

/** What `KeyStreams` needs. */
export interface KeyStreamsOptions {
  readonly identify: Identify;
  /** Calls back when keys may have changed. */
  readonly onKeysChanged: (listener: () => void) => void;
  readonly clock: () => number;
  /** Aborts when the server stops serving. */
  readonly stopping: AbortSignal;
  /** Undefined if no other server has streams of the same keys. */
  readonly places: StreamPlaces | undefined;
}

/** A stream from its opening to its end. */
interface OpenStream {
  readonly call: Call;
  /** The scope that it needs; empty for none. */
  readonly scope: string;
  caller: FoundKey;
  /** Whether the store could not be read when the key was looked up last. */
  isUnknown: boolean;
  /** Whether its answer has begun. */
  hasBegun: boolean;
}

/**
 * Counts the open streams of each key. It ends a stream when its key ends or loses the scope, and when the server
 * stops.
 *
 * It comes between `auth` and `limits`: a stream beyond the maximum of its key is refused without being charged.
 */
export class KeyStreams implements CallInterceptor {
  readonly #options: KeyStreamsOptions;
  readonly #open = new Set<OpenStream>();
  readonly #byKey = new Map<string, number>();
  /** The streams whose keys must be looked up. */
  readonly #due = new Set<OpenStream>();
  #lookUps = 0;
  #opened = 0;
  #refused = 0;
  #keyCheck: NodeJS.Timeout | undefined;

  constructor(options: KeyStreamsOptions) {
    this.#options = options;
    options.onKeysChanged(() => this.#identifyAll());
    options.stopping.addEventListener("abort", () => this.#stop());
  }

  /**
   * The number of open streams and its maximum, the number of keys that have their maximum open, and how many streams
   * were opened and refused.
   */
  get counts() {
    const keysAtMost = [...this.#byKey.values()].filter((open) => open >= maxStreamsOfKey).length;
    return { open: this.#open.size, most: maxStreams, keysAtMost, opened: this.#opened, refused: this.#refused };
  }

  wrap(next: CallHandler, method: DescMethod): CallHandler {
    return method.methodKind === "unary" ? next : (call) => this.#answer(call, next);
  }

  async #answer(call: Call, next: CallHandler): Promise<CallResponse> {
    const caller = call.contextValues.get(callerKey);
    if (caller?.key === undefined) {
      return await next(call);
    }
    const scope = operationOf(call.method)?.scope ?? "";
    const stream = { call, caller, scope, isUnknown: false, hasBegun: false };
    const leave = await this.#enter(stream, caller.key.id).catch((reason) => this.#refuse(call, reason));
    if (leave === undefined) {
      return await next(call);
    }
    try {
      const response = (await next(call)) as StreamCallResponse;
      // A stream that was ended while it was being opened is refused.
      call.signals.ending.signal.throwIfAborted();
      stream.hasBegun = true;
      this.#opened += 1;
      return this.#leavingAtEnd(response, call.exchange, leave);
    } catch (reason) {
      leave();
      throw reason;
    }
  }

  /** Leaves the refusal with the call, whose answer it becomes. Throws what is no refusal. */
  #refuse(call: Call, reason: unknown): undefined {
    if (!(reason instanceof DomainError)) {
      throw reason;
    }
    this.#refused += 1;
    call.contextValues.set(uncountedRefusal, reason);
  }

  /** Takes the places of a stream. Resolves to a function that gives them back. Rejects if there is none. */
  async #enter(stream: OpenStream, keyId: string): Promise<() => void> {
    this.#assertHasPlace(stream, keyId);
    // The stream is counted here before the shared places are asked, so that many streams that open at once do not
    // exceed the maximum.
    const leaveHere = this.#add(stream, keyId);
    try {
      const place = await this.#takeSharedPlace(keyId);
      if (this.#options.stopping.aborted) {
        place?.leave();
        throw serverStopping();
      }
      return () => {
        leaveHere();
        place?.leave();
      };
    } catch (reason) {
      leaveHere();
      throw reason;
    }
  }

  /** Resolves to undefined if servers do not share places. Rejects if there is none. */
  async #takeSharedPlace(keyId: string): Promise<StreamPlace | undefined> {
    const { places } = this.#options;
    if (places === undefined) {
      return undefined;
    }
    const place = await places.take(keyId, maxStreamsOfKey);
    if (place === undefined) {
      throw tooManyStreams(maxStreamsOfKey);
    }
    return place;
  }

  #assertHasPlace({ call }: OpenStream, keyId: string): void {
    if (this.#options.stopping.aborted) {
      call.exchange.record.isStopped = true;
      throw serverStopping();
    }
    if ((this.#byKey.get(keyId) ?? 0) >= maxStreamsOfKey) {
      throw tooManyStreams(maxStreamsOfKey);
    }
    if (this.#open.size >= maxStreams) {
      throw tooManyStreamsInAll();
    }
  }

  /** Adds a stream. Returns a function that removes it, and does nothing when it is called again. */
  #add(stream: OpenStream, keyId: string): () => void {
    this.#open.add(stream);
    this.#byKey.set(keyId, (this.#byKey.get(keyId) ?? 0) + 1);
    // Keys may have changed between the caller's look-up and now.
    this.#due.add(stream);
    this.#identifyDue();
    this.#keyCheck ??= setInterval(() => this.#checkKeys(), keyCheckMs).unref();
    return () => {
      this.#due.delete(stream);
      if (this.#open.delete(stream)) {
        this.#leave(keyId);
      }
    };
  }

  #leave(keyId: string): void {
    const open = (this.#byKey.get(keyId) ?? 1) - 1;
    if (open === 0) {
      this.#byKey.delete(keyId);
    } else {
      this.#byKey.set(keyId, open);
    }
    if (this.#open.size === 0) {
      clearInterval(this.#keyCheck);
      this.#keyCheck = undefined;
    }
  }

  /**
   * Calls `leave` when the stream has been sent, or when its client goes away. In that case nobody may ever have begun
   * to read the messages.
   */
  #leavingAtEnd(response: StreamCallResponse, { signal }: Exchange, leave: () => void): StreamCallResponse {
    if (signal.aborted) {
      leave();
    }
    signal.addEventListener("abort", leave);
    async function* leaving() {
      try {
        yield* response.message;
      } finally {
        leave();
      }
    }
    return { ...response, message: leaving() };
  }

  /** Ends the streams whose keys are no longer valid, or no longer have the scope. */
  #identifyAll(): void {
    for (const stream of this.#open) {
      this.#due.add(stream);
    }
    this.#identifyDue();
  }

  /** Starts as many of the look-ups that are due as may run. Each one that ends starts the next. */
  #identifyDue(): void {
    for (const stream of this.#due) {
      if (this.#lookUps >= maxLookUps) {
        return;
      }
      this.#due.delete(stream);
      this.#lookUps += 1;
      void this.#identify(stream).finally(() => {
        this.#lookUps -= 1;
        this.#identifyDue();
      });
    }
  }

  async #identify(stream: OpenStream): Promise<void> {
    stream.isUnknown = false;
    const caller = await this.#options.identify(stream.call);
    if (caller.key === undefined) {
      // A store that cannot be read says nothing about the key.
      if (isUnavailable(caller.refusal)) {
        stream.isUnknown = true;
      } else {
        this.#end(stream, caller.refusal);
      }
      return;
    }
    stream.caller = caller;
    const granted: readonly string[] = caller.key.scopes;
    if (stream.scope !== "" && !granted.includes(stream.scope)) {
      this.#end(stream, scopeMissing(stream.scope));
    }
  }

  /**
   * Looks up the keys that have expired, and those that the store could not tell. If the store has not told of an
   * extension by the next check, an expired key's stream ends.
   */
  #checkKeys(): void {
    const nowMs = this.#options.clock();
    for (const stream of this.#open) {
      const { endsAtMs } = stream.caller;
      if (nowMs >= endsAtMs + keyCheckMs) {
        this.#end(stream, refusalOf(stream.caller, nowMs));
      } else if (stream.isUnknown || nowMs >= endsAtMs) {
        this.#due.add(stream);
      }
    }
    this.#identifyDue();
  }

  #stop(): void {
    for (const stream of this.#open) {
      stream.call.exchange.record.isStopped = true;
      this.#end(stream, serverStopping());
    }
  }

  #end(stream: OpenStream, reason: unknown): void {
    const { signals, exchange } = stream.call;
    signals.ending.abort(reason);
    if (!stream.hasBegun) {
      return;
    }
    setTimeout(() => {
      if (this.#open.has(stream)) {
        exchange.abort();
      }
    }, lastReadMs).unref();
  }
}

/** How many streams a network may have open. Opening one costs as much as some ten calls. */
const maxStreamsOfNetwork = 64;

/** How many streams without a key may be open in all. They take some 30 MB. */
const maxAnonymousStreams = 1_024;

/** Whether a stream is admitted. */
interface StreamAdmission {
  /** Why it is refused; undefined where it is admitted. */
  readonly refusal: DomainError | undefined;
  /** Call it when the stream has ended. Further calls do nothing. */
  readonly leave: () => void;
}

/**
 * Counts the open streams without a key. Nothing else bounds them: they stay open for as long as the client likes.
 */
export class AnonymousStreams {
  readonly #byNetwork = new Map<string, number>();
  #inAll = 0;

  /** Admits one more stream, unless its network or the server has too many. */
  enter(address: string): StreamAdmission {
    const network = clientNetwork(address);
    const open = this.#byNetwork.get(network) ?? 0;
    if (open >= maxStreamsOfNetwork) {
      return notAdmitted(tooManyOfNetwork());
    }
    if (this.#inAll >= maxAnonymousStreams) {
      return notAdmitted(tooManyStreamsInAll());
    }
    this.#byNetwork.set(network, open + 1);
    this.#inAll += 1;
    let isOpen = true;
    const leave = () => {
      if (isOpen) {
        isOpen = false;
        this.#leave(network);
      }
    };
    return { refusal: undefined, leave };
  }

  #leave(network: string): void {
    this.#inAll -= 1;
    const open = (this.#byNetwork.get(network) ?? 1) - 1;
    if (open === 0) {
      this.#byNetwork.delete(network);
    } else {
      this.#byNetwork.set(network, open);
    }
  }
}

function notAdmitted(refusal: DomainError): StreamAdmission {
  return { refusal, leave() {} };
}

/** A client has as many streams open as it may. */
function tooManyOfNetwork(): DomainError {
  return new DomainError("RATE_LIMIT_EXCEEDED", "Too many streams are open. Close those that are not needed.");
}
