import { afterAll, afterEach, beforeAll } from "vitest";
import { createHttp1Client, createHttp2Client, type HttpClient } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";

/** How the tests of a file reach their server, which must be unharmed after each. */
export interface UnharmedServer {
  /** A key whose quota no test uses up. */
  readonly key: string;
  readonly http1: HttpClient;
  readonly http2: HttpClient;
}

/** Starts a server before the tests of a file, and stops it after them; there is none before the first test runs. */
export function useUnharmedServer(): UnharmedServer {
  let server: TestServer;
  let key: string;
  let http1: HttpClient;
  let http2: HttpClient;

  beforeAll(async () => {
    server = await startServer();
    ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
    http1 = createHttp1Client(server);
    http2 = createHttp2Client(server);
  });

  afterEach(() => expectUnharmed(server, key));

  afterAll(async () => {
    http1?.close();
    http2?.close();
    await server?.stop();
  });

  return {
    get key() {
      return key;
    },
    get http1() {
      return http1;
    },
    get http2() {
      return http2;
    },
  };
}
