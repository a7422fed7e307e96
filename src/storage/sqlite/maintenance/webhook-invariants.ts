import { keptAttempts } from "../../../domain/webhook.ts";
import { type Invariant, isListOfTexts } from "./invariants.ts";

/** The first version of the schema that has webhooks. */
const since = 6;

/** What must hold of webhooks. */
export const webhookInvariants: readonly Invariant[] = [
  {
    subject: "the webhooks",
    since,
    sql: `WITH head (head) AS (SELECT ifnull(max(revision), 0) FROM changes)
          SELECT 'webhook ' || id || ': its position, ' || position || ', is none of the history, which ends with ' || head
            AS fault
          FROM webhooks, head WHERE position NOT BETWEEN 0 AND head
          UNION ALL
          SELECT 'webhook ' || id || ': its delivery must end after its position, and with a change that there is'
          FROM webhooks, head WHERE delivering_up_to <= position OR delivering_up_to > head
          UNION ALL
          SELECT 'webhook ' || id || ': it must have failures, since when, and its next attempt; or none of them'
          FROM webhooks
          WHERE failures < 0 OR (failures = 0) <> (failing_since_ms IS NULL)
            OR (failures = 0) <> (next_attempt_at_ms IS NULL)
          UNION ALL
          SELECT 'webhook ' || id || ': its pets must be a list of texts' FROM webhooks
          WHERE NOT ${isListOfTexts("pet_ids")}`,
  },
  {
    subject: "the attempts of webhooks",
    since,
    sql: `SELECT 'webhook ' || webhook_id || ': it has ' || count(*) || ' attempts, and ${keptAttempts} are kept' AS fault
          FROM webhook_attempts GROUP BY webhook_id HAVING count(*) > ${keptAttempts}`,
  },
];
