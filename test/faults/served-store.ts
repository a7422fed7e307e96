import { afterAll, beforeAll } from "vitest";
import { importFixture } from "../support/fixture.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";

/** A server that all tests of a group share, with its store and a key of plenty; to be asked for within a test. */
export interface ServedStore {
  readonly store: TestStore;
  readonly server: TestServer;
  readonly key: string;
}

/**
 * Has a group of tests share a server on the fixture, of which `prepare` may make what it likes before it is served.
 */
export function useServedStore(prepare: (store: TestStore) => void = () => {}): ServedStore {
  const store = new TestStore();
  let server: TestServer;
  let key: string;

  beforeAll(async () => {
    await importFixture(store.db);
    ({ key } = await store.mintQuota(1_000_000, 1_000_000));
    prepare(store);
    server = await serve(store);
  });

  afterAll(async () => {
    await server?.end("SIGKILL");
    store.remove();
  });

  return {
    store,
    get server() {
      return server;
    },
    get key() {
      return key;
    },
  };
}
