import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NoAnswer } from "../../../src/reference/assets/key/api.js";
import { Watching } from "../../../src/reference/assets/watch/watching.js";

/** A connection as the service answers it. */
class Connection {
  readonly response: Response;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(signal: AbortSignal) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    signal.addEventListener("abort", () => this.break());
    this.response = new Response(body, { status: 200 });
  }

  send(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.#controller?.close();
  }

  break(): void {
    try {
      this.#controller?.error(new TypeError("network error"));
    } catch {}
  }
}

/** A service that a test answers for: by these answers at first, and then by connections that stay open. */
function createService(...answers: (Response | Error)[]) {
  const asked: (string | undefined)[] = [];
  const connections: Connection[] = [];
  const told: string[] = [];
  const open = async (lastEventId: string | undefined, signal: AbortSignal) => {
    asked.push(lastEventId);
    const answer = answers.shift();
    if (answer instanceof Error) {
      throw answer;
    }
    if (answer !== undefined) {
      return answer;
    }
    const connection = new Connection(signal);
    connections.push(connection);
    return connection.response;
  };
  const ends: unknown[] = [];
  const watching = new Watching(open, {
    connecting: () => told.push("connecting"),
    opened: () => told.push("opened"),
    told: ({ data }: { data: string }) => told.push(data),
    heard: () => told.push("heard"),
    lost: (waitMs: number) => told.push(`lost ${waitMs}`),
    ended: (end: unknown) => ends.push(end),
  });
  return { asked, connections, told, answers, ends, watching, run: watching.run() as Promise<void> };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const refusal = (status: number) => new Response(JSON.stringify({ code: "X", message: "", status }), { status });

describe("watching", () => {
  it("tells events and heartbeats, and goes on after the last id of either", async () => {
    const { asked, connections, told } = createService();
    await pass(0);
    connections[0]?.send("id: 1\nevent: e\ndata: one\n\n: heartbeat\nid: 2\n\ndata: half");
    await pass(0);
    connections[0]?.break();
    await pass(1_000);
    expect(asked).toEqual([undefined, "2"]);
    expect(told).toEqual(["connecting", "opened", "one", "heard", "lost 1000", "connecting", "opened"]);
  });

  it("waits twice as long after each failure, up to 30 s, and anew once it is open", async () => {
    const { connections, told, answers } = createService();
    await pass(0);
    answers.push(...Array.from({ length: 6 }, () => new NoAnswer("no")), refusal(503));
    connections[0]?.end();
    await pass(121_000);
    expect(told.at(-1)).toBe("opened");
    connections[1]?.end();
    await pass(0);
    const waits = told.flatMap((text) => (text.startsWith("lost") ? Number(text.slice(5)) : []));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 1_000]);
  });

  it("comes back when the service that stops says so, as soon as it says", async () => {
    const { connections, told, ends } = createService();
    await pass(0);
    connections[0]?.send('retry: 250\nevent: error\ndata: {"code":"UNAVAILABLE","status":503}\n\n');
    await pass(250);
    expect([told, ends]).toEqual([["connecting", "opened", "lost 250", "connecting", "opened"], []]);
  });

  it("ends when the service ends it for good", async () => {
    const { connections, ends, run } = createService();
    await pass(0);
    const body = '{"code":"API_KEY_REVOKED","message":"","status":401}';
    connections[0]?.send(`event: error\ndata: ${body}\n\n`);
    await run;
    expect(ends).toEqual([{ answer: { status: 401, headers: {}, text: body } }]);
  });

  it.each([400, 410, 429, 503])("ends when it is refused at first: %i", async (status) => {
    const { answers, asked, ends, run } = createService(refusal(status));
    await run;
    expect(asked).toHaveLength(1);
    expect(answers).toEqual([]);
    expect(ends).toMatchObject([{ isRefusal: true, answer: { status, headers: expect.anything() } }]);
  });

  it("ends when nobody answers at first", async () => {
    const { ends, run } = createService(new NoAnswer("Nobody."));
    await run;
    expect(ends).toEqual([{ silence: "Nobody." }]);
  });

  it("ends when it is refused later, but not when the service fails", async () => {
    const { connections, answers, ends, run } = createService();
    await pass(0);
    answers.push(refusal(503), refusal(410));
    connections[0]?.end();
    await pass(10_000);
    await run;
    expect(ends).toMatchObject([{ isRefusal: true, answer: { status: 410 } }]);
  });

  it("takes a connection that is silent for 45 s for lost", async () => {
    const { connections, told } = createService();
    await pass(40_000);
    connections[0]?.send(": heartbeat\n\n");
    await pass(44_000);
    expect(told).toEqual(["connecting", "opened", "heard"]);
    await pass(1_000);
    expect(told.slice(3)).toEqual(["lost 1000"]);
  });

  it("tells nothing more once it is stopped, whatever it is doing, and leaves no timer", async () => {
    for (const isWaiting of [false, true]) {
      const { watching, connections, told, run } = createService();
      await pass(0);
      if (isWaiting) {
        connections[0]?.end();
        await pass(0);
      }
      const before = [...told];
      watching.stop();
      await run;
      await pass(100_000);
      expect(told).toEqual(before);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("hides no fault of its own", async () => {
    const watching = new Watching(
      async () => {
        throw new RangeError("a bug");
      },
      { connecting() {} },
    );
    await expect(watching.run()).rejects.toThrow("a bug");
  });
});
