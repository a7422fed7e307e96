import { expect, it } from "vitest";
import { formatStatus } from "../../../src/cli/commands/status.ts";
import { parseStatus, type ServerStatus } from "../../../src/cli/ops-client.ts";

const status: ServerStatus = {
  version: "1.2.3",
  startedAt: "2026-06-01T12:00:00.000Z",
  url: "http://127.0.0.1:8080",
  opsUrl: "http://127.0.0.1:9090",
  ready: true,
  db: { path: "data/petstore.db", fileBytes: 4096, walBytes: 0 },
  calls: { total: 0, perSecond1m: 0, failed: 0 },
  limits: { admitted: 0, refused: 0, banned: 0 },
  keys: { byPlan: { free: 1 } },
  logLevel: "info",
};

it.each<[db: ServerStatus["db"], line: RegExp]>([
  [status.db, /^store +data\/petstore\.db, .+, log .+$/m],
  [{ path: "postgres://db/petstore" }, /^store +postgres:\/\/db\/petstore$/m],
  [
    { path: "data/petstore.db", error: "the store does not answer" },
    /^store +data\/petstore\.db, the store does not answer$/m,
  ],
])("shows the store %j in a line", (db, line) => {
  const answer = parseStatus(JSON.parse(JSON.stringify({ ...status, db })));
  expect(formatStatus(answer as ServerStatus, Date.now())).toMatch(line);
});
