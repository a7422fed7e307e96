import { spawnSync } from "node:child_process";
import { appendFileSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import { amount } from "../support/long.ts";
import { report } from "../support/report.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { KnownStock } from "./known-stock.ts";
import { ways } from "./ways.ts";

/** Lets a command see a folder with what is in it on a small disk of its own: 8 MB of memory. */
const moveToSmallDisk = (folder: string) => `
  cp -a "${folder}" "${folder}.kept"
  mount -t tmpfs -o size=8m small "${folder}"
  cp -a "${folder}.kept/." "${folder}"
  rm -r "${folder}.kept"
  exec "$0" "$@"`;

const mayMount = spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", tmpdir()]).status === 0;

describe.skipIf(!mayMount)("a small disk (skipped without the right to mount one)", () => {
  const store = new TestStore();
  let server: TestServer;
  let stock: KnownStock;
  /** The folder as the server sees it. */
  let folder: string;

  beforeAll(async () => {
    await importFixture(store.db);
    stock = new KnownStock((await store.mintQuota(1_000_000_000, 1_000_000_000)).key);
    server = await serve(store, {
      by: ["unshare", "--mount", "sh", "-ec", moveToSmallDisk(store.directory)],
    });
    folder = `/proc/${server.pid}/root${store.directory}`;
  });

  afterAll(() => server?.stop());

  it("that is full has updates refused and reads answered until something is deleted", async () => {
    const rounds = amount(5, 60);
    const filler = join(folder, "filler");
    for (let round = 0; round < rounds; round++) {
      fill(filler, (round % 7) * 4_096);
      await until(allAreRefused, 10_000);
      for (const way of ways) {
        await stock.expectIn(server, way);
      }
      rmSync(filler);
      for (const way of ways) {
        expect(await stock.update(server, way), way.name).toBeUndefined();
        await stock.expectIn(server, way);
      }
    }
    expect(server.log).toContain("SQLITE_FULL");
    expect(await checkDatabase(join(folder, "petstore.db"), "full")).toEqual([]);
    report("a small disk that is full", { rounds, acknowledged: stock.acknowledged });
  }, 120_000);

  /** A small update may still find room where a larger one has not. */
  async function allAreRefused(): Promise<boolean> {
    const codes: (string | undefined)[] = [];
    for (const way of ways) {
      codes.push(await stock.update(server, way));
    }
    expect(["UNAVAILABLE", undefined]).toEqual(expect.arrayContaining(codes));
    return codes.every((code) => code === "UNAVAILABLE");
  }
});

/** Fills a disk by one file, but for so many bytes. */
function fill(file: string, spareBytes: number): void {
  let size = 0;
  for (const bytes of [65_536, 4_096]) {
    try {
      for (;;) {
        appendFileSync(file, Buffer.alloc(bytes));
        size += bytes;
      }
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
  }
  truncateSync(file, size - spareBytes);
}
