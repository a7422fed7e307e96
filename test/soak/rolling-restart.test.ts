import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, expect, it } from "vitest";
import { createPetstoreClient } from "../../client/src/index.ts";
import { amount, isLong } from "../support/long.ts";
import { serve, startServer, type TestServer } from "../support/server.ts";
import { UpdateLoad } from "../support/update-load.ts";

const restarts = amount(3, 30);

/** The default suffices where the machine does nothing else: where it does, a server may take seconds to start. */
const retry = isLong ? {} : { maxAttempts: 12 };

let server: TestServer;

afterAll(() => server?.stop());

it(`shows no error to clients that try again, over ${restarts} restarts under load`, {
  timeout: 30_000 + restarts * 10_000,
}, async ({ annotate }) => {
  server = await startServer();
  const { key } = await server.store.mintQuota(1_000_000_000, 1_000_000_000);
  const { port, origin: baseUrl } = server;
  const load = new UpdateLoad(() =>
    createPetstoreClient({ baseUrl, apiKey: key, transport: (options) => createGrpcTransport(options), retry }),
  );
  for (let restart = 0; restart < restarts; restart += 1) {
    // A restart comes when all are at work again: in a storm of restarts nobody could be.
    await load.allAtWork();
    expect(await server.end()).toBe(0);
    server = await serve(server.store, { flags: ["--port", String(port)] });
  }
  await load.stop();
  expect(load.errors).toEqual([]);
  await annotate(`${load.calls} calls`);
});
