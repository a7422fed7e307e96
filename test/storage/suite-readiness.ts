import { describe, expect, it } from "vitest";
import { type OpenStore, withStore } from "./opened-store.ts";

const reason = new Error("the caller has gone");

export function describeReadiness(open: OpenStore): void {
  describe("a store", () => {
    it(
      "tells that it is ready",
      withStore(open, async ({ store }) => {
        await store.ready();
        await store.ready(new AbortController().signal);
      }),
    );

    it(
      "does not let a caller wait that has gone",
      withStore(open, async ({ store }) => {
        await expect(store.ready(AbortSignal.abort(reason))).rejects.toBe(reason);
        await store.ready();
      }),
    );

    it(
      "answers a caller that goes meanwhile, or rejects with the reason why it goes",
      withStore(open, async ({ store }) => {
        const gone = new AbortController();
        const asking = store.ready(gone.signal);
        gone.abort(reason);
        const [outcome] = await Promise.allSettled([asking]);
        expect([{ status: "fulfilled" }, { status: "rejected", reason }]).toContainEqual(outcome);
      }),
    );
  });
}
