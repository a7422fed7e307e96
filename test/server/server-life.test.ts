import { expect, it } from "vitest";
import { ServerLife } from "../../src/server/server-life.ts";

it("ends its parts at the same time, at once, and releases after them what was opened before them", async () => {
  const life = new ServerLife(10_000);
  const order: string[] = [];
  const hanging = Promise.withResolvers<void>();
  life.resources.defer(() => void order.push("store"));
  life.endAtStop(async () => void order.push("port"));
  life.endAtStop(async () => {
    order.push("deliveries");
    await hanging.promise;
  });
  life.stop();
  expect(order).toEqual(["port", "deliveries"]);
  const released = life.resources.disposeAsync();
  hanging.resolve();
  await released;
  expect(order).toEqual(["port", "deliveries", "store"]);
});

it("ends its parts also where a start fails, and tells of the failure of one", async () => {
  const life = new ServerLife(10_000);
  const ended: string[] = [];
  life.endAtStop(async () => void ended.push("port"));
  life.endAtStop(() => Promise.reject(new Error("cannot be closed")));
  await expect(life.resources.disposeAsync()).rejects.toThrow("cannot be closed");
  expect(ended).toEqual(["port"]);
});
