import { performance } from "node:perf_hooks";
import { type Protocol, protocols } from "../support/clients/protocols.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import type { Input, Operation } from "../support/operations.ts";
import type { TestServer } from "../support/server.ts";

/** What a client does, and what comes of it. */
interface Deed<O extends Operation = Operation> {
  readonly operation: O;
  readonly input: (turn: number) => Input<O>;
  readonly key: "good" | "exhausted" | "unknown";
  /** What it may be answered with; undefined stands for success. */
  readonly codes: readonly (ErrorCode | undefined)[];
  /** How often, among the others. */
  readonly weight: number;
}

function deed<O extends Operation>(operation: O, weight: number, input: Input<O>, other: Partial<Deed<O>> = {}): Deed {
  return { operation, weight, input: () => input, key: "good", codes: [undefined], ...other } as unknown as Deed;
}

/** What clients do on a busy day: mostly reads and updates, some of it wrong. */
const deeds: readonly Deed[] = [
  deed("getPet", 6, { petId: 7n }),
  deed("updateInventory", 6, {}, { input: (turn) => ({ petId: 1n, update: { quantity: BigInt(turn) } }) }),
  deed("listInventory", 2, {}),
  deed("listInventory", 2, { pageSize: 5 }),
  deed("getInventory", 2, { petId: 2n }),
  deed("getAvailability", 1, { petId: 2n }),
  // Pet 2 gains as much as it loses, so that neither way ends.
  deed(
    "adjustInventory",
    4,
    {},
    { input: (turn) => ({ petId: 2n, adjustment: { delta: turn % 2 === 0 ? 1n : -1n, allowNegative: true } }) },
  ),
  deed(
    "batchUpdateInventory",
    1,
    {},
    { input: (turn) => ({ changes: [3n, 4n, 5n].map((petId) => ({ petId, quantity: BigInt(turn) })) }) },
  ),
  // Holds end by themselves, so they do not gather.
  deed(
    "createHold",
    1,
    { petId: 6n, quantity: 1n, ttl: { seconds: 1n } },
    { codes: [undefined, "INSUFFICIENT_STOCK"] },
  ),
  deed("listHolds", 1, { petId: 6n, pageSize: 5 }),
  deed("listStockChanges", 1, { pageSize: 5, newestFirst: true }),
  deed("listOrders", 1, {}),
  deed("getLimits", 1, {}),
  deed("getPet", 1, { petId: 4711n }, { codes: ["PET_NOT_FOUND"] }),
  deed("updateInventory", 1, { petId: 1n, update: { quantity: 0n }, etag: '"0"' }, { codes: ["PRECONDITION_FAILED"] }),
  deed("commitHold", 1, { holdId: "hold_of_nobody" }, { codes: ["HOLD_NOT_FOUND"] }),
  deed("listInventory", 1, { pageSize: 5, pageToken: "x" }, { codes: ["INVALID_PAGE_TOKEN"] }),
  // Strangers have a limit, too; and bans end.
  deed("getPet", 1, { petId: 7n }, { key: "unknown", codes: ["API_KEY_INVALID", "RATE_LIMIT_EXCEEDED"] }),
  deed("getPet", 1, { petId: 7n }, { key: "exhausted", codes: ["API_KEY_BANNED", "RATE_LIMIT_EXCEEDED"] }),
];

/** Each deed as often as it weighs. */
const day = deeds.flatMap((deed) => Array.from({ length: deed.weight }, () => deed));

/** The keys of the clients. */
export type Keys = Readonly<Record<Deed["key"], string>>;

/** Clients of every protocol, each of which does one thing after the other. */
export class MixedLoad {
  readonly #server: TestServer;
  readonly #keys: Keys;
  #isOn = true;
  #latencies: number[] = [];
  #calls = 0;
  readonly #clients: Promise<void>;
  /** What came out otherwise than it should have, in words. */
  readonly surprises: string[] = [];

  /** Starts at once. */
  constructor(server: TestServer, keys: Keys) {
    this.#server = server;
    this.#keys = keys;
    this.#clients = Promise.all(protocols.map((protocol, index) => this.#run(protocol, index * 7))).then(() => {});
  }

  get calls(): number {
    return this.#calls;
  }

  /** How long each call has taken since this was last asked, in milliseconds. */
  takeLatencies(): readonly number[] {
    const latencies = this.#latencies;
    this.#latencies = [];
    return latencies;
  }

  /** Resolves when all calls have been answered. */
  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#clients;
  }

  async #run(protocol: Protocol, start: number): Promise<void> {
    let turn = start;
    while (this.#isOn) {
      await this.#do(protocol, day[turn % day.length] as Deed, turn);
      turn += 1;
    }
  }

  async #do(protocol: Protocol, { operation, input, key, codes }: Deed, turn: number): Promise<void> {
    const start = performance.now();
    const outcome = await this.#server
      .call(protocol, operation, input(turn), { key: this.#keys[key] })
      .then(({ failure }) => failure?.code as ErrorCode | undefined)
      .catch(String);
    this.#latencies.push(performance.now() - start);
    this.#calls += 1;
    if (!codes.includes(outcome as ErrorCode | undefined)) {
      this.surprises.push(`${protocol.name}, ${operation}: ${outcome} in place of ${codes.join(" or ")}`);
    }
  }
}
