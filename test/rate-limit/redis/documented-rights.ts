import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../../support/petstore.ts";

const operations = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");

const [, rights = "", keys = "", clusterRights = ""] =
  /needs `(\+eval [^`]+)` for keys\s+that match `([^`]+)`.*?\s+for a cluster `([^`]+)`/.exec(operations) ?? [];

/** What docs/operations.md says that the user of Valkey needs. */
export const documented = { rights: rights.split(" "), keys, clusterRights: clusterRights.split(" ") };
