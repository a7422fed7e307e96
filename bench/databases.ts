import { rmSync } from "node:fs";
import { type Cluster, startCluster } from "../test/support/postgres/cluster.ts";
import { runSql, urlOf } from "../test/support/postgres/databases.ts";
import { type DataSet, importAgain } from "./data-set.ts";

/** PostgreSQL's own defaults, where the tests' servers differ from them. */
const settings = ["fsync=on", "full_page_writes=on", "shared_buffers=128MB", "autovacuum_naptime=1min"];

/** A contender's copy of a data set in a database. */
export interface DatabaseCopy {
  /** Its `db` is the database's URL. */
  readonly data: DataSet;
  /** The first process of the database's server. */
  readonly pid: number;
}

/** Stores in databases of one PostgreSQL server, which starts with the first of them. */
export class Databases implements AsyncDisposable {
  readonly #templates = new Map<DataSet, Promise<DataSet>>();
  #cluster: Promise<Cluster> | undefined;
  #copies = 0;

  /** Copies a data set, with a key of its own, for one contender. */
  async copy(data: DataSet): Promise<DatabaseCopy> {
    this.#cluster ??= startGuarded();
    const { port, pid } = await this.#cluster;
    let template = this.#templates.get(data);
    if (template === undefined) {
      template = makeTemplate(data, urlOf(port, "postgres"), urlOf(port, `template_${this.#templates.size}`));
      this.#templates.set(data, template);
    }
    const { db: source, ...rest } = await template;
    const db = urlOf(port, `copy_${this.#copies++}`);
    await runSql(urlOf(port, "postgres"), `CREATE DATABASE ${nameIn(db)} TEMPLATE ${nameIn(source)}`);
    return { data: { ...rest, db }, pid };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#cluster)?.remove();
  }
}

/** Starts a server that ends with this process, however that ends. */
async function startGuarded(): Promise<Cluster> {
  const cluster = await startCluster({ settings });
  const end = () => {
    process.kill(cluster.pid, "SIGQUIT");
    rmSync(cluster.folder, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", end);
  return {
    ...cluster,
    pid: cluster.pid,
    remove() {
      process.off("exit", end);
      return cluster.remove();
    },
  };
}

async function makeTemplate(data: DataSet, admin: string, db: string): Promise<DataSet> {
  await runSql(admin, `CREATE DATABASE ${nameIn(db)}`);
  const imported = await importAgain(data, db);
  // What autovacuum would soon do.
  await runSql(db, "VACUUM ANALYZE", "CHECKPOINT");
  return imported;
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1);
}
