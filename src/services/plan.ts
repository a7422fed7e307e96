import { Plan as PlanMessage } from "../../gen/petstore/v1/key_limits_pb.ts";
import type { Plan } from "../domain/plan.ts";

/** The plan of a key as its messages have it. */
export function planToMessage(plan: Plan): PlanMessage {
  return messages[plan];
}

const messages: Readonly<Record<Plan, PlanMessage>> = {
  free: PlanMessage.FREE,
  pro: PlanMessage.PRO,
  business: PlanMessage.BUSINESS,
  enterprise: PlanMessage.ENTERPRISE,
};
