import { expect, it } from "vitest";
import { Lane } from "../../src/scheduling/lane.ts";

/** A lane, the pieces of work that it has let in, and a way to end the oldest of them. */
function createLane() {
  const lane = new Lane({ width: 10, bound: { maxWaiting: 20, refusal: () => new Error("full") } });
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string, weight: number) =>
    lane.run(weight, () => {
      started.push(name);
      return new Promise<string>((resolve) => ends.push(() => resolve(name)));
    });
  const endOldest = async () => {
    ends.shift()?.();
    await new Promise(setImmediate);
  };
  return { lane, started, run, endOldest };
}

it("lets work in up to its width, and the rest in its order", async () => {
  const { started, run, endOldest } = createLane();
  const all = Promise.all([run("a", 6), run("b", 4), run("c", 8), run("d", 1), run("e", 3)]);
  await new Promise(setImmediate);
  expect(started).toEqual(["a", "b"]);
  await endOldest();
  expect(started, "nothing light overtakes what waits").toEqual(["a", "b"]);
  await endOldest();
  expect(started).toEqual(["a", "b", "c", "d"]);
  await endOldest();
  expect(started).toEqual(["a", "b", "c", "d", "e"]);
  await endOldest();
  await endOldest();
  expect(await all).toEqual(["a", "b", "c", "d", "e"]);
});

it("lets in what is too wide for it alone", async () => {
  const { started, run, endOldest } = createLane();
  const all = [run("a", 1), run("b", 15), run("c", 1)];
  await new Promise(setImmediate);
  expect(started).toEqual(["a"]);
  await endOldest();
  expect(started).toEqual(["a", "b"]);
  await endOldest();
  expect(started).toEqual(["a", "b", "c"]);
  await endOldest();
  await Promise.all(all);
});

it("refuses work where too much waits, and goes on after work that fails", async () => {
  const { lane, run, started, endOldest } = createLane();
  const failing = lane.run(10, () => new Promise((_, reject) => setImmediate(() => reject(new Error("failed")))));
  const waiting = run("a", 10);
  await expect(run("b", 11)).rejects.toThrow("full");
  await expect(failing).rejects.toThrow("failed");
  await new Promise(setImmediate);
  expect(started).toEqual(["a"]);
  const idle = lane.idle();
  await endOldest();
  expect(await waiting).toBe("a");
  await idle;
  await lane.idle();
});
