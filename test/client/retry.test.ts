import { Code, type ConnectError, createClient, createRouterTransport, type HandlerContext } from "@connectrpc/connect";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createRetryInterceptor, HoldService, InventoryService } from "../../client/src/connect.ts";
import { createPetstoreClient, defaultRetryPolicy, type PetstoreClient, toDuration } from "../../client/src/index.ts";
import { isRetriable, nextDelayMs } from "../../client/src/retry-decision.ts";
import type { RetryOverrides } from "../../client/src/retry-policy.ts";
import { systemTiming } from "../../client/src/timing.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { failure, overLimit, refusedStream } from "./failures.ts";
import { FakeTiming } from "./fake-timing.ts";

const { Unavailable, Aborted, Canceled, ResourceExhausted, Internal, NotFound, DeadlineExceeded, Unauthenticated } =
  Code;

/**
 * A service that fails as it is told to, one call after the other, and answers from then on. `onCall` is called with
 * each call.
 */
function failing(failures: readonly ConnectError[], onCall = () => {}) {
  const timeouts: (number | undefined)[] = [];
  const fail = (timeoutMs: number | undefined) => {
    onCall();
    timeouts.push(timeoutMs);
    const next = failures[timeouts.length - 1];
    if (next !== undefined) {
      throw next;
    }
    return {};
  };
  return {
    timeouts,
    routes: ({ service }: Parameters<Parameters<typeof createRouterTransport>[0]>[0]) => {
      const call = (_request: unknown, context: { timeoutMs(): number | undefined }) => fail(context.timeoutMs());
      service(InventoryService, { updateInventory: call });
      service(Health, { check: call });
    },
  };
}

interface Run {
  readonly failures: readonly ConnectError[];
  readonly policy?: RetryOverrides;
  readonly timeoutMs?: number;
  /** How far the clock is set forward during each attempt, in milliseconds. */
  readonly clockSetMs?: number;
}

/** Updates a pet's stock by a client whose sleeps take no time. */
async function update({ failures, policy = {}, timeoutMs, clockSetMs = 0 }: Run) {
  const timing = new FakeTiming();
  const { routes, timeouts } = failing(failures, () => timing.setClock(clockSetMs));
  const client = createPetstoreClient({
    baseUrl: "https://in-memory",
    apiKey: "psk_x",
    transport: (transport) => createRouterTransport(routes, { transport }),
    retry: policy,
    timing,
  });
  const call = client.inventory.updateInventory({ petId: 7n }, timeoutMs === undefined ? {} : { timeoutMs });
  const code = await call.then(
    () => undefined,
    (error: ConnectError) => error.code,
  );
  return { attempts: timeouts.length, delaysMs: timing.delaysMs, code, timeouts };
}

const down = failure(Unavailable, { reason: "UNAVAILABLE" });
const banned = (retrySeconds: number) => failure(ResourceExhausted, { reason: "API_KEY_BANNED", retrySeconds });

describe("a call that fails", () => {
  it.each<[title: string, run: Run, delaysMs: number[], code: Code | undefined]>([
    ["is not made again when it succeeds", { failures: [] }, [], undefined],
    ["is made again when nobody answered", { failures: [down] }, [150], undefined],
    ["is made again when the connection broke", { failures: [failure(Aborted)] }, [150], undefined],
    ["is made again when its stream ended with the connection", { failures: [failure(Canceled)] }, [150], undefined],
    ["waits for ever longer", { failures: [down, down, down] }, [150, 300, 600], undefined],
    ["ends with the last error", { failures: Array(6).fill(down) }, [150, 300, 600, 1_200, 2_400], Unavailable],
    ["is made as often as the policy says", { failures: [down], policy: { maxAttempts: 1 } }, [], Unavailable],
    [
      "waits no longer than the policy says",
      { failures: [down, down, down], policy: { maxDelayMs: 300 } },
      [150, 225, 225],
      undefined,
    ],
    [
      "waits no longer in all than the policy says",
      { failures: [down, down, down], policy: { maxTotalDelayMs: 450 } },
      [150, 300],
      Unavailable,
    ],
    ["waits for as long as the service asks, and a little", { failures: [overLimit(17)] }, [17_100], undefined],
    ["heeds a Retry-After header", { failures: [failure(Unavailable, { retryAfter: "3" })] }, [3_100], undefined],
    [
      "heeds one with a date",
      { failures: [failure(Unavailable, { retryAfter: "Thu, 01 Jan 1970 00:00:09 GMT" })] },
      [9_100],
      undefined,
    ],
    ["does not wait for the next day", { failures: [overLimit(86_400)] }, [], ResourceExhausted],
    ["does not wait for the end of a ban", { failures: [banned(120)] }, [], ResourceExhausted],
    ["waits for what is left of a ban", { failures: [banned(5)] }, [5_100], undefined],
    ["does not wait past its deadline", { failures: [overLimit(17)], timeoutMs: 17_000 }, [], ResourceExhausted],
    ["does not wait past one in fractions", { failures: [overLimit(17)], timeoutMs: 16_999.5 }, [], ResourceExhausted],
    ["waits before its deadline", { failures: [overLimit(17)], timeoutMs: 18_000 }, [17_100], undefined],
    [
      "is not made again when it is too large",
      { failures: [failure(ResourceExhausted, { reason: "BODY_TOO_LARGE" })] },
      [],
      ResourceExhausted,
    ],
    [
      "is not made again when others than the service say so",
      { failures: [failure(ResourceExhausted, { reason: "RATE_LIMIT_EXCEEDED", domain: "other.example" })] },
      [],
      ResourceExhausted,
    ],
    ["is not made again when there is a fault", { failures: [failure(Internal)] }, [], Internal],
    [
      "is not made again when its version is out of date",
      { failures: [failure(Aborted, { reason: "PRECONDITION_FAILED" })] },
      [],
      Aborted,
    ],
    ["is not made again when there is no such pet", { failures: [failure(NotFound)] }, [], NotFound],
    ["is not made again when its time is over", { failures: [failure(DeadlineExceeded)] }, [], DeadlineExceeded],
    ["is not made again when its key is refused", { failures: [failure(Unauthenticated)] }, [], Unauthenticated],
  ])("%s", async (_title, run, delaysMs, code) => {
    expect(await update(run)).toMatchObject({ delaysMs, code, attempts: delaysMs.length + 1 });
  });

  it.each([
    ["", 0],
    [", also where the clock is set forward meanwhile", 3_600_000],
    [", also where the clock is set back meanwhile", -3_600_000],
  ])("tells the service what is left of its time%s", async (_title, clockSetMs) => {
    const { timeouts } = await update({ failures: [overLimit(17)], timeoutMs: 60_000, clockSetMs });
    expect(timeouts[0]).toBeGreaterThan(59_000);
    expect(timeouts[1]).toBeGreaterThan(41_900);
    expect(timeouts[1]).toBeLessThanOrEqual(42_900);
  });

  it.each(Object.keys(defaultRetryPolicy))("is made again by the default where %s is undefined", async (name) => {
    const { delaysMs } = await update({ failures: Array(6).fill(down), policy: { [name]: undefined } });
    expect(delaysMs).toEqual([150, 300, 600, 1_200, 2_400]);
  });

  it.each([
    ["is made again when the limits refused it", overLimit(1), 2],
    ["is not made again when it may have been carried out", down, 1],
  ])("and is not idempotent %s", async (_title, error, attempts) => {
    const { routes, timeouts } = failing([error]);
    const interceptors = [createRetryInterceptor({ maxAttempts: undefined }, new FakeTiming())];
    const health = createClient(Health, createRouterTransport(routes, { transport: { interceptors } }));
    await health.check({}).catch(() => undefined);
    expect(timeouts).toHaveLength(attempts);
  });
});

describe.each(Object.keys(defaultRetryPolicy))("the number %s", (name) => {
  it.each([Number.NaN, -1, Number.NEGATIVE_INFINITY, "6", null])("%s is refused", async (value) => {
    const retry = { [name]: value as never };
    const message = `retry.${name}: give a number of 0 or more.`;
    expect(() => createPetstoreClient({ baseUrl: "https://in-memory", apiKey: "psk_x", retry })).toThrow(message);
    expect(() => createRetryInterceptor(retry)).toThrow(message);
  });

  it.each([0, 0.5, Number.POSITIVE_INFINITY])("%s is taken", async (value) => {
    const { code } = await update({ failures: [down], policy: { [name]: value } });
    expect([undefined, Unavailable]).toContain(code);
  });
});

it.each([
  ["is made again where a server that ends refuses it", refusedStream(), true],
  ["is not made again where there is another fault", failure(Internal), false],
])("a call that is not idempotent %s", (_title, error, isMade) => {
  expect(isRetriable(error, { method: Health.method.check, header: new Headers() })).toBe(isMade);
});

describe("an idempotency key", () => {
  /** Makes a call that nobody answers at first, and returns the keys that the service saw. */
  async function keysOf(call: (client: PetstoreClient) => Promise<unknown>) {
    const keys: (string | null)[] = [];
    const answer = (_request: unknown, { requestHeader }: HandlerContext) => {
      if (keys.push(requestHeader.get("idempotency-key")) === 1) {
        throw down;
      }
      return {};
    };
    const client = createPetstoreClient({
      baseUrl: "https://in-memory",
      apiKey: "psk_x",
      transport: (transport) =>
        createRouterTransport(
          ({ service }) => {
            service(InventoryService, {
              adjustInventory: answer,
              updateInventory: answer,
              batchUpdateInventory: answer,
              getInventory: answer,
            });
            service(HoldService, { createHold: answer, commitHold: answer, releaseHold: answer });
          },
          { transport },
        ),
      timing: new FakeTiming(),
    });
    await call(client);
    return keys;
  }

  it.each<[string, (client: PetstoreClient) => Promise<unknown>]>([
    ["an adjustment", ({ inventory }) => inventory.adjustInventory({})],
    ["an update", ({ inventory }) => inventory.updateInventory({})],
    ["a batch", ({ inventory }) => inventory.batchUpdateInventory({})],
    ["a hold", ({ holds }) => holds.createHold({ ttl: toDuration(900_000) })],
    ["a hold's commit", ({ holds }) => holds.commitHold({})],
    ["a hold's release", ({ holds }) => holds.releaseHold({})],
  ])("is the same for all attempts at %s, and new for the next one", async (_title, call) => {
    const [first, second, ...others] = await keysOf(call);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
    expect(others).toEqual([]);
    expect((await keysOf(call))[0]).not.toBe(first);
  });

  it("of the caller's own is kept", async () => {
    const headers = { "Idempotency-Key": "sale-17" };
    expect(await keysOf(({ inventory }) => inventory.adjustInventory({}, { headers }))).toEqual(["sale-17", "sale-17"]);
  });

  it("is not sent with a call that changes nothing", async () => {
    expect(await keysOf(({ inventory }) => inventory.getInventory({}))).toEqual([null, null]);
  });
});

it.each([
  [900_000, { seconds: 900n, nanos: 0 }],
  [1_500, { seconds: 1n, nanos: 500_000_000 }],
])("%d ms as a duration", (ms, duration) => {
  expect(toDuration(ms)).toEqual(duration);
});

describe("back-off", () => {
  it.each([
    [0, 1, 100],
    [0.25, 1, 125],
    [0.999, 1, 199.9],
    [0.25, 3, 500],
    [0.5, 60, 45_000],
  ])("of %d drawn after attempt %d is %d ms", (random, attempt, delayMs) => {
    const policy = { ...defaultRetryPolicy, maxAttempts: 100 };
    expect(nextDelayMs(policy, { error: down, attempt, now: 0, random })).toBeCloseTo(delayMs);
  });

  it.each([0, 0.5, 0.999])("after %d drawn is never shorter than what the service asks for", (random) => {
    const delayMs = nextDelayMs(defaultRetryPolicy, { error: overLimit(17), attempt: 1, now: 0, random });
    expect(delayMs).toBeGreaterThanOrEqual(17_000);
  });

  it.each([0, 0.5, 0.999])("after %d drawn is never longer than the longest wait", (random) => {
    const failed = { error: overLimit(60), attempt: 1, now: 0, random };
    expect(nextDelayMs(defaultRetryPolicy, failed)).toBe(60_000);
  });
});

describe("a wait", () => {
  afterEach(() => void vi.useRealTimers());

  it("ends as soon as its call is aborted", async () => {
    const { routes, timeouts } = failing([overLimit(50)]);
    const client = createPetstoreClient({
      baseUrl: "https://in-memory",
      apiKey: "psk_x",
      transport: (transport) => createRouterTransport(routes, { transport }),
    });
    const controller = new AbortController();
    const call = client.inventory.updateInventory({}, { signal: controller.signal });
    await expect.poll(() => timeouts.length).toBe(1);
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: Code.Canceled });
    expect(timeouts).toHaveLength(1);
  });

  it.each([2 ** 31, Number.POSITIVE_INFINITY])("of %d ms lasts for as long as a timer can", async (delayMs) => {
    vi.useFakeTimers();
    let isOver = false;
    void systemTiming.sleep(delayMs, new AbortController().signal).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
  });
});
