import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../support/deadline.ts";
import { hasRedis, RedisServer } from "../../support/redis-server.ts";
import { documented } from "./documented-rights.ts";
import { freshKey, TestLimits } from "./shared-limits.ts";

const { rights, keys } = documented;

/** Opens limits as a user with these rights. */
async function openAs(granted: readonly string[]) {
  const redis = await RedisServer.start();
  onTestFinished(() => redis.stop());
  await redis.client.call("ACL", "SETUSER", "petstore", "on", ">secret", `~${keys}`, ...granted);
  const server = await TestLimits.open(redis.url.replace("//", "//petstore:secret@"));
  onTestFinished(() => server.close());
  return { redis, server };
}

describe.runIf(hasRedis)("the documented rights of the user (skipped without redis-server)", () => {
  it("are all that limits and streams need", async () => {
    expect(keys).toBe("petstore:*");
    const { redis, server } = await openAs(rights);
    const { limits, told } = server;
    const key = freshKey(60);
    await server.burst(key, 2);
    await limits.keys.describe(key);
    await limits.anonymous.decide("192.0.2.1");
    const place = await limits.places.take(key.id, 1);
    expect(await limits.places.take(key.id, 1)).toBeUndefined();
    const name = `petstore:{${key.id}}:streams`;
    const latest = async () => Number((await redis.client.zrange(name, "-1", "-1", "WITHSCORES"))[1]);
    const taken = await latest();
    await until(async () => (await latest()) > taken, 10_000);
    place?.leave();
    await until(async () => (await redis.client.zcard(name)) === 0, 2_000);
    expect(limits.localDecisions).toBe(0);
    expect(told).toEqual([expect.stringMatching(/^connected/)]);
  });

  it.each(rights)("are needed: without %s, Valkey is away, and the reason names it", async (right) => {
    const { server } = await openAs(rights.filter((other) => other !== right));
    await until(async () => server.told.length > 1, 5_000);
    const reason = new RegExp(`^disconnected: .* no permissions to run the '${right.slice(1)}' command`);
    expect(server.told).toEqual(server.told.map(() => expect.stringMatching(reason)));
  });
});
