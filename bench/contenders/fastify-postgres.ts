/**
 * Updates of stock by Fastify over PostgreSQL: as `fastify.ts`, with one `UPDATE` a request, which a pool of `pg` runs in
 * a commit of its own. It reads the keys once, at the start.
 *
 *     node bench/contenders/fastify-postgres.ts DATABASE_URL
 */
import pg from "pg";
import { createApp, schemas, sendItem, serveApp } from "./peer/fastify-app.ts";
import { createKeyTable, type KeyRow } from "./peer/key-check.ts";
import type { Item } from "./peer/table.ts";

// Quantities as numbers, as the other peers have them.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const pool = new pg.Pool({ connectionString: process.argv[2] });
const keys = await pool.query<KeyRow>(
  `SELECT secrets.hash, keys.id, keys.per_minute AS "perMinute", keys.per_day AS "perDay"
   FROM secrets JOIN keys ON keys.id = secrets.key_id
   WHERE keys.revoked_at_ms IS NULL`,
);
const app = await createApp(createKeyTable(keys.rows), undefined);

app.patch<{ Params: { petId: number }; Body: { quantity: number } }>(
  "/v1/inventory/:petId",
  { schema: schemas.update },
  async (request, reply) => {
    const { rows } = await pool.query<Item>({
      name: "update",
      text: `UPDATE stock SET quantity = $1 WHERE pet_id = $2 RETURNING pet_id AS "petId", quantity, status`,
      values: [request.body.quantity, request.params.petId],
    });
    sendItem(reply, rows[0]);
    return reply;
  },
);

await serveApp(app, "http");
