import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Duration, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type HoldService, ListHoldsResponseSchema } from "../../gen/petstore/v1/hold_service_pb.ts";
import { invalidRequest } from "../domain/errors.ts";
import { defaultHoldMs, type Hold } from "../domain/hold.ts";
import type { ListedHold, StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { answerList } from "./list.ts";
import { holdStateFromMessage, holdStateMessages } from "./messages.ts";
import type { StockWriter } from "./stock-writer.ts";

/** What the holds need. */
interface HoldServiceOptions {
  readonly store: StockStore;
  readonly write: StockWriter;
  readonly clock: () => number;
}

/** The RPCs of holds on stock. */
export function holdService({ store, write, clock }: HoldServiceOptions): ServiceMethods<typeof HoldService> {
  return {
    async createHold({ petId, quantity, ttl, reference }, call) {
      const request = {
        holdId: newHoldId(),
        petId: petId as bigint,
        quantity: quantity as bigint,
        ttlMs: ttl === undefined ? defaultHoldMs : millisecondsOf(ttl),
        reference,
      };
      return { hold: holdToMessage(await write(call, (context) => store.createHold(request, context))) };
    },

    async getHold({ holdId }) {
      return { hold: holdToMessage(await store.getHold(holdId, clock())) };
    },

    async listHolds({ pageSize, pageToken, petId, state }, call) {
      const nowMs = clock();
      const states = state.map(holdStateFromMessage);
      const holds = {
        name: "holds",
        filter: petId === undefined ? states : [...states, `pet ${petId}`],
        read: (before: bigint | undefined, limit: number) => store.listHolds({ petId, states, before, limit }, nowMs),
        positionOf: ({ position }: ListedHold) => position,
        toMessage: (items: readonly Hold[], nextPageToken: string) =>
          create(ListHoldsResponseSchema, { holds: items.map(holdToMessage), nextPageToken }),
      };
      return await answerList(holds, { pageSize, pageToken: pageToken || undefined }, call);
    },

    async commitHold({ holdId, reason, reference }, call) {
      const ending = { holdId, reason, reference };
      return { hold: holdToMessage(await write(call, (context) => store.commitHold(ending, context))) };
    },

    async releaseHold({ holdId, reason, reference }, call) {
      const ending = { holdId, reason, reference };
      return { hold: holdToMessage(await write(call, (context) => store.releaseHold(ending, context))) };
    },
  };
}

/** 96 random bits: no two stores share an id. */
function newHoldId(): string {
  return `hold_${randomBytes(12).toString("base64url")}`;
}

/**
 * Whole milliseconds of a positive duration; a fraction of one is cut off. Throws `INVALID_REQUEST` for nanoseconds
 * that a duration cannot have: the binary encoding allows any.
 *
 * Source: https://protobuf.dev/reference/protobuf/google.protobuf/#duration
 */
function millisecondsOf({ seconds, nanos }: Duration): number {
  if (nanos < 0 || nanos > 999_999_999) {
    const description = "must have from 0 to 999999999 nanoseconds";
    throw invalidRequest(`ttl: ${description}.`, [{ field: "ttl", description }]);
  }
  return Number(seconds) * 1_000 + Math.trunc(nanos / 1_000_000);
}

function holdToMessage({ id, petId, quantity, reference, state, createdAtMs, expiresAtMs, keyId }: Hold) {
  return {
    holdId: id,
    petId,
    quantity,
    reference,
    state: holdStateMessages[state],
    createdAt: timestampFromMs(createdAtMs),
    expiresAt: timestampFromMs(expiresAtMs),
    keyId,
  };
}
