import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Debian puts each version into a folder of its own, which is not in `PATH`. */
const debianFolder = "/usr/lib/postgresql";

/** The oldest version that the service takes. */
const leastVersion = 15;

/** The folder of PostgreSQL's programs; undefined where they are not installed. */
export const postgresPrograms: string | undefined = findPrograms();

/** Why a test is left out that needs PostgreSQL, in a line. */
export const postgresMissing = "PostgreSQL is not installed: apt-get install postgresql-15";

function findPrograms(): string | undefined {
  const ofDebian = existsSync(debianFolder)
    ? readdirSync(debianFolder)
        .filter((version) => Number(version) >= leastVersion)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(debianFolder, version, "bin"))
    : [];
  const folders = [...(process.env.PATH ?? "").split(":"), ...ofDebian];
  const needed = ["initdb", "postgres", "pg_basebackup"];
  return folders.find((folder) => needed.every((program) => existsSync(join(folder, program))));
}
