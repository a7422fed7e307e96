import { isInstalled } from "./installed.ts";
import { postgresPrograms } from "./postgres/programs.ts";

/** Whether this machine has a PostgreSQL to test with. */
const hasPostgres = postgresPrograms !== undefined;

/** Whether this machine has a Redis to test with. */
export const hasRedis = isInstalled("redis-server");

/** What several servers share. */
export const canHaveNodes = hasPostgres && hasRedis;

const packages = [...(hasPostgres ? [] : ["postgresql-15"]), ...(hasRedis ? [] : ["redis-server"])];

const tests = [
  ...(hasPostgres
    ? []
    : ["test/storage/postgres", "test/storage/copy", "test/faults/postgres", "npm run test:postgres"]),
  ...(hasRedis ? [] : ["test/rate-limit/redis", "test/server/shared-limits", "npm run test:shared-limits"]),
  "test/nodes",
  "npm run test:nodes",
];

/** In a line, which tests this machine leaves out for want of a server, and how to have them; undefined for none. */
export const leftOut: string | undefined =
  packages.length === 0
    ? undefined
    : `Left out, without ${packages.join(" and ")}: ${tests.join(", ")}. To have them: apt-get install ${packages.join(" ")} && npm run test:all`;
