import { isInstalled } from "./installed.ts";
import { postgresPrograms } from "./postgres/programs.ts";

/** Whether this machine has a PostgreSQL to test with. */
const hasPostgres = postgresPrograms !== undefined;

/** Whether this machine has a Redis to test with. */
export const hasRedis = isInstalled("redis-server");

/** What several servers share. */
export const canHaveNodes = hasPostgres && hasRedis;

const packages = [...(hasPostgres ? [] : ["postgresql-15"]), ...(hasRedis ? [] : ["redis-server"])];

const ofPostgres = [
  "test/storage/{copy,postgres}",
  "test/cli/commands/{copy,database}",
  "test/observability/store-away",
  "test/readme/postgres-backup",
  "test/faults/postgres",
  "npm run test:postgres",
];

const ofRedis = ["test/rate-limit/redis", "test/server/shared-limits", "npm run test:shared-limits"];

const ofNodes = ["test/readme/several-servers", "test/nodes", "npm run test:nodes"];

const tests = [...(hasPostgres ? [] : ofPostgres), ...(hasRedis ? [] : ofRedis), ...ofNodes];

/** In a line, which tests this machine leaves out for want of a server, and how to have them; undefined for none. */
export const leftOut: string | undefined =
  packages.length === 0
    ? undefined
    : `Left out, without ${packages.join(" and ")}: ${tests.join(", ")}. To have them: apt-get install ${packages.join(" ")}, and npm run test:all`;
