import { setTimeout } from "node:timers/promises";
import type { Hold } from "../../../gen/petstore/v1/hold_pb.ts";
import type { StockChange } from "../../../gen/petstore/v1/stock_change_pb.ts";
import type { CallOptions, Outcome } from "../../support/clients/client.ts";
import { type Protocol, protocolNamed, rest } from "../../support/clients/protocols.ts";
import { expectSuccess } from "../../support/expectations.ts";
import type { Operation } from "../../support/operations.ts";
import { Random } from "../../support/random.ts";
import type { TestServer } from "../../support/server.ts";
import type { StockCall } from "./call.ts";
import { findContradiction } from "./contradiction.ts";
import type { ModelStart } from "./state.ts";
import { type Wish, wish } from "./wishes.ts";

const grpc = protocolNamed("gRPC");

/** How many tags and holds of late are worth a call. */
const remembered = 30;

/** Between two attempts, while the server is gone. */
const retryMs = 20;

type Start = Pick<ModelStart, "items" | "holds" | "head">;

/** Clients over REST and gRPC that change the stock of a few pets and look at it, and all that they are answered. */
export class StockLoad {
  readonly #server: () => TestServer;
  readonly #key: string;
  readonly #random = new Random(Date.now());
  readonly #etags = new Map<bigint, string>();
  readonly #holdIds: string[] = [];
  readonly #keyed: { wish: Wish; idempotencyKey: string }[] = [];
  #names = 0;
  readonly #end = new AbortController();
  #start: Start | undefined;
  readonly calls: StockCall[] = [];

  /** `server` is asked for each call. */
  constructor(server: () => TestServer, key: string) {
    this.#server = server;
    this.#key = key;
  }

  /** Notes what there is before the first call. */
  async begin(): Promise<void> {
    const { items } = expectSuccess(await this.#call(rest, { operation: "listInventory", input: {} }));
    this.#start = { items, holds: await this.#readHolds(), head: (await this.readHistory()).length };
  }

  /** Has so many clients make calls, one after the other, until each has made some, or until `stop`. */
  async run(clients: number, callsEach = Infinity): Promise<void> {
    await Promise.all(
      Array.from({ length: clients }, (_, client) => this.#use([rest, grpc][client % 2] as Protocol, callsEach)),
    );
  }

  stop(): void {
    this.#end.abort();
  }

  /** The whole history, in pages. */
  async readHistory(): Promise<StockChange[]> {
    const history: StockChange[] = [];
    for (;;) {
      const after = history.at(-1)?.cursor;
      const input = { pageSize: 1_000, ...(after === undefined ? {} : { after }) };
      const { changes } = expectSuccess(await this.#call(rest, { operation: "listStockChanges", input }));
      if (changes.length === 0) {
        return history;
      }
      history.push(...changes);
    }
  }

  /** Why the calls, and what they have left, cannot be; undefined where they can. */
  async findContradiction(): Promise<string | undefined> {
    // It is a call like the others: what it shows must be right.
    await this.#make(rest, { operation: "listHolds", input: {} }, undefined);
    const holdIds = (await this.#readHolds()).map(({ holdId }) => holdId);
    return findContradiction({ ...(this.#start as Start), history: await this.readHistory(), holdIds }, this.calls);
  }

  /** All holds, the oldest first. */
  async #readHolds(): Promise<Hold[]> {
    const { holds } = expectSuccess(await this.#call(rest, { operation: "listHolds", input: {} }));
    return holds.toReversed();
  }

  async #use(protocol: Protocol, count: number): Promise<void> {
    const random = this.#random;
    for (let call = 0; call < count && !this.#end.signal.aborted; call += 1) {
      const used = random.oneIn(12) && this.#keyed.length > 0 ? random.pick(this.#keyed) : undefined;
      const next = wish(random, {
        etags: this.#etags,
        holdIds: this.#holdIds,
        nextReference: () => this.#nextName(),
      });
      if (isRead(next)) {
        await this.#make(protocol, next, undefined);
      } else if (used !== undefined) {
        // The same request again, or another one under its key.
        await this.#make(protocol, random.oneIn(2) ? used.wish : next, used.idempotencyKey);
      } else {
        await this.#makeWithKey(protocol, next);
      }
    }
  }

  /** Makes a write under a new key, now and then twice at once. */
  async #makeWithKey(protocol: Protocol, wish: Wish): Promise<void> {
    const idempotencyKey = `key-${this.#nextName()}`;
    remember(this.#keyed, { wish, idempotencyKey });
    const twice = this.#random.oneIn(6) ? [rest, grpc] : [protocol];
    await Promise.all(twice.map((each) => this.#make(each, wish, idempotencyKey)));
  }

  /** Sends a call until it is answered; a write under a key, which may be done only once. */
  async #make(protocol: Protocol, wish: Wish, idempotencyKey: string | undefined): Promise<void> {
    const startMs = nowMs();
    for (let attempts = 1; ; attempts += 1) {
      const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
      const outcome = await this.#call(attempts % 2 === 1 ? protocol : other(protocol), wish, { headers });
      if (isAnswer(outcome)) {
        const { message, failure } = outcome;
        const isReplayed = outcome.headers.get("idempotency-replayed") === "true";
        const answer = { message, code: failure?.code, text: failure?.message, isReplayed };
        const call = { ...wish, ...answer, idempotencyKey, attempts, startMs, endMs: nowMs() } as StockCall;
        this.calls.push(call);
        this.#learn(call);
        return;
      }
      await setTimeout(retryMs);
    }
  }

  /** Returns the outcome; undefined where the connection broke. */
  #call<W extends Wish>(protocol: Protocol, { operation, input }: W, options: CallOptions = {}) {
    const call = this.#server().call(protocol, operation as Operation, input as never, { key: this.#key, ...options });
    return call.catch(() => undefined) as Promise<Outcome<W["operation"]>>;
  }

  /** A text that was not there before. */
  #nextName(): string {
    this.#names += 1;
    return String(this.#names);
  }

  #learn(call: StockCall): void {
    if (call.message !== undefined && "etag" in call.message && "petId" in call.input) {
      this.#etags.set(call.input.petId as bigint, call.message.etag);
    }
    if (call.operation === "createHold" && call.message?.hold !== undefined) {
      remember(this.#holdIds, call.message.hold.holdId);
    }
  }
}

/** Milliseconds of the Unix epoch, by a clock that never steps. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Whether the server has answered. When it is killed, connections break, or clients say so in their own words. */
function isAnswer(outcome: Outcome | undefined): outcome is Outcome {
  const { failure } = outcome ?? {};
  return (
    outcome !== undefined && (failure === undefined || (failure.code !== undefined && failure.code !== "UNAVAILABLE"))
  );
}

function isRead({ operation }: Wish): boolean {
  return operation.startsWith("get") || operation.startsWith("list");
}

function other(protocol: Protocol): Protocol {
  return protocol === rest ? grpc : rest;
}

/** Puts something among the latest. */
function remember<T>(latest: T[], what: T): void {
  latest.push(what);
  if (latest.length > remembered) {
    latest.shift();
  }
}
