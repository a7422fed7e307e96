import { parseMembers } from "../text.js";
import { NoAnswer, sendRequest } from "./api.js";
import { isSecret } from "./key-secret.js";
import { parseWindows } from "./limits.js";

/** The reasons for which keys are refused, by error code. */
const refusals = {
  API_KEY_INVALID: "The service does not know this key.",
  API_KEY_EXPIRED: "This key has expired. Ask for a new one.",
  API_KEY_REVOKED: "This key has been revoked. Ask for a new one.",
};

/**
 * Checks a key by reading its limits, which is free of charge. Resolves to the argument of `Api.use`; or to a `fault`,
 * with `isFinal` when the key itself is wrong, not the connection.
 */
export async function checkKey(key, baseUrl) {
  if (!isSecret(key)) {
    return { fault: "This is not a whole API key: it is cut off or mistyped.", isFinal: true };
  }
  try {
    return toResult(key, await sendRequest({ method: "GET", url: `${baseUrl}/limits` }, key));
  } catch (reason) {
    if (reason instanceof NoAnswer) {
      return { fault: reason.message, isFinal: false };
    }
    throw reason;
  }
}

function toResult(key, { status, headers, text }) {
  const { code, plan, ban } = parseMembers(text);
  if (status === 200 && typeof plan === "string") {
    const pausedUntilMs = ban === undefined ? 0 : Date.parse(ban.endTime);
    return { key, plan, windows: parseWindows(headers, Date.now()), pausedUntilMs };
  }
  if (status === 429) {
    return { fault: `Too many attempts. Wait ${headers["retry-after"]} seconds.`, isFinal: false };
  }
  const fault = Object.hasOwn(refusals, code) ? refusals[code] : undefined;
  return {
    fault: fault ?? `The service could not check the key: it answered ${status}.`,
    isFinal: fault !== undefined,
  };
}
