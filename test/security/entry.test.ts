import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import type { HttpRequest } from "../support/http.ts";
import { samples } from "../support/operations.ts";
import { startServer, type TestServer, TestStore } from "../support/server.ts";
import { doors, isGiven } from "./doors.ts";
import { credentialTricks, type Keys, pathTricks, withHeaders } from "./entry-tricks.ts";

let server: TestServer;
let keys: Keys;

beforeAll(async () => {
  // Strangers are counted by address; each of these has one of its own.
  server = await startServer("--trusted-proxy", "127.0.0.1/32");
  const { store } = server;
  const { key: good } = await store.mintQuota(1_000_000, 1_000_000);
  const { key: expired } = await store.mintKey("--expires-in", "1s");
  const { id, key: revoked } = await store.mintKey();
  await store.run("keys", "revoke", id);
  const other = new TestStore();
  const { key: foreign } = await other.mintKey();
  other.remove();
  keys = { good, revoked, expired, foreign };
  await until(async () => (await get("/v1/limits", expired)).status === 401, 5_000);
});

afterAll(() => server?.stop());

function get(path: string, key: string): Promise<Response> {
  return fetch(server.origin + path, { headers: { authorization: `Bearer ${key}` } });
}

/** The stock that nobody may set. */
const unwanted = 66_666n;

/**
 * Requests for paths that are none need no key, and give none of what an operation gives. What is no HTTP counts for the
 * address of this machine, which may be over its limit.
 */
const refusals = new Set([400, 401, 404, 429]);

let made = 0;

/** From an address that nobody else has. */
function fromAnywhere(request: HttpRequest): HttpRequest {
  made += 1;
  const address = `2001:db8:${(made >>> 16).toString(16)}:${(made & 0xffff).toString(16)}::1`;
  return { ...request, headers: { ...request.headers, "x-forwarded-for": address } };
}

describe.each(doors)("without a valid key, over $name", (door) => {
  it.each(samples)("nothing gives $operation", async (sample) => {
    const client = door.open(server);
    const request = await door.request(
      sample.operation === "updateInventory"
        ? { ...sample, input: { petId: 2n, update: { quantity: unwanted } } }
        : sample,
    );
    const tricks = Object.entries({ ...credentialTricks(keys), ...pathTricks });
    const answers = await Promise.all(
      tricks.map(async ([title, trick]) => {
        // Some are no HTTP, or such that this side's library does not send them.
        const answer = await client.send(fromAnywhere(trick(request))).catch(() => undefined);
        expect(answer !== undefined && isGiven(answer), `${title}: ${answer?.status} ${answer?.text}`).toBe(false);
        expect(answer === undefined || answer.status === 200 || refusals.has(answer.status), title).toBe(true);
        return answer;
      }),
    );
    expect(answers.filter((answer) => answer !== undefined).length).toBeGreaterThan(tricks.length / 2);
    client.close();
  });

  it.each(samples)("and a valid one gives $operation", async (sample) => {
    const client = door.open(server);
    const withKey = withHeaders(() => ({ authorization: `Bearer ${keys.good}` }));
    const answer = await client.send(withKey(await door.request(sample)));
    expect(isGiven(answer), answer.text).toBe(true);
    client.close();
  });
});

it("nothing of what strangers wanted has been set", async () => {
  const list = await get("/v1/inventory", keys.good);
  expect(list.status).toBe(200);
  expect(await list.text()).not.toContain(String(unwanted));
});
