import { Code, ConnectError, createRouterTransport, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { InventoryService } from "../../client/src/connect.ts";
import {
  createPetstoreClient,
  type InventoryItem,
  PetStatus,
  type PetstoreClient,
  type PetstoreClientOptions,
  StockChangeKind,
  type WatchStockChangesRequest,
} from "../../client/src/index.ts";
import { VirtualTiming } from "./virtual-timing.ts";

/** A change of stock as a script names it: its revision alone, or more of it. */
export interface ScriptedChange {
  readonly revision: number;
  readonly petId?: bigint;
  readonly after?: bigint;
  readonly kind?: StockChangeKind;
}

/**
 * What a stream does next: tells a change, sends a heartbeat with this cursor, is silent for some milliseconds or for
 * ever, fails, or ends without a word.
 */
export type Step =
  | number
  | ScriptedChange
  | { readonly heartbeat: string }
  | { readonly silentMs: number }
  | { readonly clockBackMs: number }
  | "silence"
  | "end"
  | ConnectError;

/** A stream that is opened, or the failure of the attempt. */
export type Script = readonly Step[] | { readonly refused: Error };

/** A list of the stock. */
export interface StockList {
  readonly items: InventoryItem[];
  readonly cursor: string;
}

/** What a request for the list gets: at once, later, or a failure. */
export type ListScript = StockList | Promise<StockList> | ConnectError;

/** The cursor of a revision. */
export function cursorOf(revision: number): string {
  return `cursor-${revision}`;
}

/** What the client loses when the network does: `fetch` says no more than this. */
export const cut = new ConnectError("terminated", Code.Unknown);

/** An entry of a scripted list. */
export function entry(petId: bigint, quantity: bigint, status: PetStatus = PetStatus.AVAILABLE): InventoryItem {
  return { petId, quantity, status };
}

/** Options of the client, what is listed, and when the time stops. */
export interface FeedOptions extends Partial<PetstoreClientOptions> {
  readonly lists?: readonly ListScript[];
  /** In milliseconds from the start. */
  readonly stopsAt?: number;
}

/** A service whose streams and lists follow scripts, one after the other, and the client of it. Time is virtual. */
export class ScriptedFeed {
  readonly timing: VirtualTiming;
  /** What each stream was opened with. */
  readonly requests: WatchStockChangesRequest[] = [];
  /** Whether the streams that were opened have been ended by the client. */
  readonly ended: boolean[] = [];
  /** How often the stock was listed. */
  lists = 0;
  readonly client: PetstoreClient;
  readonly #scripts: readonly Script[];
  readonly #listScripts: readonly ListScript[];

  /** After the last script, streams are silent. */
  constructor(scripts: readonly Script[], { lists = [], stopsAt, ...options }: FeedOptions = {}) {
    this.timing = new VirtualTiming(stopsAt === undefined ? {} : { stopsAt });
    this.#scripts = scripts;
    this.#listScripts = lists;
    this.client = createPetstoreClient({
      baseUrl: "https://in-memory",
      apiKey: "psk_x",
      transport: (transport) =>
        createRouterTransport(
          ({ service }) => {
            service(InventoryService, {
              watchStockChanges: (request, context) => this.#stream(request, context),
              listInventory: () => this.#list(),
            });
          },
          { transport: { ...transport, interceptors: [...transport.interceptors, this.#network] } },
        ),
      timing: this.timing,
      ...options,
    });
  }

  /** How many streams the client has tried to open. */
  get attempts(): number {
    return this.requests.length;
  }

  readonly #network: Interceptor = (next) => async (request) => {
    if (!request.stream) {
      return next(request);
    }
    const script = this.#scripts[this.attempts];
    if (script !== undefined && "refused" in script) {
      this.requests.push({});
      this.ended.push(true);
      throw script.refused;
    }
    return next(request);
  };

  async *#stream({ after, petId, crossing }: WatchStockChangesRequest, { signal }: HandlerContext) {
    const index = this.requests.push({ after, petId, crossing }) - 1;
    const script = this.#scripts[index] ?? ["silence"];
    this.ended[index] = false;
    signal.addEventListener("abort", () => {
      this.ended[index] = true;
    });
    for (const step of script as readonly Step[]) {
      if (step === "end") {
        return;
      }
      if (step instanceof ConnectError) {
        throw step;
      }
      if (step === "silence") {
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      } else if (typeof step === "object" && "silentMs" in step) {
        await this.timing.sleep(step.silentMs, signal);
      } else if (typeof step === "object" && "clockBackMs" in step) {
        this.timing.setBack(step.clockBackMs);
      } else if (typeof step === "object" && "heartbeat" in step) {
        yield { cursor: step.heartbeat };
      } else {
        yield toMessage(typeof step === "number" ? { revision: step } : step);
      }
    }
  }

  #list() {
    const script = this.#listScripts[this.lists];
    this.lists += 1;
    if (script === undefined || script instanceof ConnectError) {
      throw script ?? new ConnectError("there is no further list", Code.Internal);
    }
    return script;
  }
}

function toMessage({ revision, petId = 7n, after = 1n, kind = StockChangeKind.SET }: ScriptedChange) {
  const cursor = cursorOf(revision);
  return { cursor, change: { cursor, revision: BigInt(revision), petId, before: 0n, after, kind } };
}
