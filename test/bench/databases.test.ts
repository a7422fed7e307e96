import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createContenders } from "../../bench/contender.ts";
import { createShop } from "../../bench/data-set.ts";
import { Databases } from "../../bench/databases.ts";
import { hasPostgres } from "../../bench/prerequisites.ts";
import { assertInHistory, assertWritten, readHead } from "../../bench/quantities.ts";
import { assertSameAnswer } from "../../bench/scenarios/same-answer.ts";
import { serveCopies } from "../../bench/serve-copy.ts";

const certificate = { certFile: "cert.pem", keyFile: "key.pem", pem: "" };

describe.runIf(hasPostgres)("the contenders over PostgreSQL", () => {
  const directory = mkdtempSync(join(tmpdir(), "petstore-bench-test-"));
  const databases = new Databases();
  const held = new AsyncDisposableStack();

  afterAll(async () => {
    await held.disposeAsync();
    await databases[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  it("have databases of their own with the pets of the data set, in which the bench finds their updates", {
    timeout: 60_000,
  }, async () => {
    const compiled = { go: undefined, rust: undefined };
    const contenders = createContenders({ protos: "protos", certificate, compiled, databases });
    const data = await createShop(directory);
    const { service, postgres, fastifyPostgres } = contenders;
    const served = await serveCopies([service, postgres, fastifyPostgres], { data, directory, held });
    await assertSameAnswer(served.slice(0, 2), "/v1/inventory");

    for (const each of served.slice(1)) {
      const { key, db } = each.data;
      const head = await readHead(db);
      const answer = await fetch(`${each.server.origin}/v1/inventory/${data.firstId}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: '{"quantity":2000000000}',
      });
      expect(await answer.json()).toMatchObject({ petId: data.firstId, quantity: 2_000_000_000 });
      await assertWritten(db, 2_000_000_000, 1);
      await expect(assertWritten(db, 2_000_000_000, 2)).rejects.toThrow("1 have been written");
      await expect(assertInHistory(db, head, 2)).rejects.toThrow();
    }
  });
});
