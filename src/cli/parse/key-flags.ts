import { scopes } from "../../domain/key.ts";
import { plans } from "../../domain/plan.ts";
import { argument, listArgument } from "./argument.ts";
import { durationForm, parseDuration } from "./duration.ts";
import { parsePositiveNumber } from "./whole-number.ts";

/** What the flags of keys take, for the commands that create and update them. */

export const parseLimit = argument(parsePositiveNumber, "a whole number from 1 on");

export const parseScopes = listArgument(
  (text) => scopes.find((scope) => scope === text),
  `one of ${scopes.join(", ")}`,
);

/** In milliseconds. */
export const parseLifetime = argument((text) => parseDuration(text) || undefined, `${durationForm}, and not nothing`);

/** The plans, as a sentence names them. */
export const planNames = `${plans.slice(0, -1).join(", ")} or ${plans.at(-1)}`;
