import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashSecret, mintKeyId, mintSecret, newKey } from "../../src/domain/key.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createPet } from "../storage/samples.ts";
import { createHttp1Client, type HttpClient, type HttpRequest } from "../support/http.ts";
import { isLong } from "../support/long.ts";
import { cpuMs } from "../support/process-usage.ts";
import { report } from "../support/report.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

/** So many keys are more than one test's calls use up, which come with another each. */
const freshKeys = 30_000;

/** No key's is used up. */
const customQuota = { perMinute: 10_000_000, perDay: 10_000_000 };

/** How often each store's server is measured, in turn with the other, and with how many calls. */
const rounds = 7;
const calls = 3_000;

/** How many pets a store has, and how many keys beside the one that it is asked with. */
interface Size {
  readonly pets: number;
  readonly keys: number;
}

interface Sized {
  readonly server: TestServer;
  readonly http: HttpClient;
  readonly key: string;
  readonly secrets: readonly string[];
  readonly size: Size;
}

// It takes two minutes, and its times want a machine that does nothing else.
describe.runIf(isLong)("the time of the processor that a call costs with 1,000,000 pets and keys, and with 10", () => {
  let few: Sized;
  let fresh: Sized;
  let many: Sized;
  let made = 0;

  beforeAll(async () => {
    few = await start({ pets: 10, keys: 10 });
    fresh = await start({ pets: 10, keys: freshKeys });
    many = await start({ pets: 1_000_000, keys: 1_000_000 });
  }, 300_000);

  afterAll(async () => {
    for (const sized of [few, fresh, many]) {
      sized?.http.close();
      await sized?.server.stop();
    }
  });

  const petOf = ({ size }: Sized) => 1 + ((made * 7_919) % size.pets);
  const authorized = (secret: string) => ({ authorization: `Bearer ${secret}`, "content-type": "application/json" });

  it.each<[title: string, small: () => Sized, request: (sized: Sized) => HttpRequest]>([
    [
      "a single read",
      () => few,
      (sized) => ({ method: "GET", path: `/v1/pets/${petOf(sized)}`, headers: authorized(sized.key) }),
    ],
    [
      "an update",
      () => few,
      (sized) => ({
        method: "PATCH",
        path: `/v1/inventory/${petOf(sized)}`,
        headers: authorized(sized.key),
        body: `{"quantity":${made}}`,
      }),
    ],
    [
      // The other store has more than 10 keys, for none of them to be known either.
      "a key that was not used before",
      () => fresh,
      (sized) => ({
        method: "GET",
        path: `/v1/pets/${petOf(sized)}`,
        headers: authorized(sized.secrets[made % sized.secrets.length] ?? ""),
      }),
    ],
  ])("is the same for %s", { timeout: 120_000 }, async (title, small, request) => {
    const costs = { small: [] as number[], large: [] as number[] };
    for (let round = 0; round < rounds; round++) {
      costs.small.push(await costUs(small(), request));
      costs.large.push(await costUs(many, request));
    }
    const [smallUs, largeUs] = [median(costs.small), median(costs.large)];
    report(title, { smallUs, largeUs });
    // Some 10 % are the processor's own caches; a scan of anything would take a thousand times as long.
    expect(largeUs / smallUs, `${largeUs} µs instead of ${smallUs} µs`).toBeLessThan(1.5);
  });

  /** What a call costs the server, in µs of all its threads; eight are made at a time. */
  async function costUs(sized: Sized, request: (sized: Sized) => HttpRequest): Promise<number> {
    const before = cpuMs(sized.server.pid);
    const end = made + calls;
    const callOn = async () => {
      while (made < end) {
        made += 1;
        const { status, text } = await sized.http.send(request(sized));
        expect(status, text).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 8 }, callOn));
    return ((cpuMs(sized.server.pid) - before) * 1_000) / calls;
  }
});

async function start(size: Size): Promise<Sized> {
  const testStore = new TestStore();
  const secrets: string[] = [];
  const store = openSqliteStore(testStore.db);
  const pets = Array.from({ length: size.pets }, (_, index) => createPet({ id: BigInt(index + 1) }));
  await store.importAll({ pets }, Date.now());
  while (secrets.length < size.keys) {
    const group = Array.from({ length: Math.min(size.keys, 10_000) }, () => mintSecret(randomBytes));
    await Promise.all(
      group.map((secret) =>
        store.createKey(
          newKey({ id: mintKeyId(randomBytes), name: "", plan: "enterprise", customQuota, createdAtMs: Date.now() }),
          hashSecret(secret),
        ),
      ),
    );
    secrets.push(...group);
  }
  await store.close();
  const { key } = await testStore.mintQuota(customQuota.perMinute, customQuota.perDay);
  const server = await serve(testStore);
  return { server, http: createHttp1Client(server), key, secrets, size };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}
