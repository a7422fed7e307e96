/**
 * What a failed answer means, and what to do about it; undefined of one that has not failed. `waitSeconds` is set where
 * the answer says how long to wait.
 */
export function describeAnswer({ status, headers, text }) {
  const code = codeOf(text);
  if (status < 400 || code === undefined) {
    return undefined;
  }
  return status === 429 ? describeRefusal(code, headers) : describeFailure(code);
}

function codeOf(text) {
  try {
    return JSON.parse(text).code;
  } catch {
    return undefined;
  }
}

function describeFailure(code) {
  const text = code.startsWith("API_KEY_")
    ? "Enter your API key at the top of the operations."
    : "The message below says what to do next.";
  return { title: code, text, facts: [], href: `#${code}`, linkText: `More about ${code}` };
}

function describeRefusal(code, headers) {
  const limit = headers["x-ratelimit-limit"];
  const waitSeconds = Number(headers["retry-after"]);
  const isBanned = code === "API_KEY_BANNED";
  const until = new Date(Date.now() + waitSeconds * 1_000).toLocaleTimeString();
  return {
    title: isBanned ? "This key is banned for a while" : "The rate limit is exceeded",
    text: isBanned
      ? `It went on after its limit was exceeded. Send nothing for ${waitSeconds} seconds, until ${until}.`
      : `${usedUp(limit, headers)} used up. Wait ${waitSeconds} seconds, until ${until}. The key is not banned, and this request was not charged.`,
    facts: [
      ["Limit", limit],
      ["Remaining", headers["x-ratelimit-remaining"]],
      ["Retry-After", `${waitSeconds} s`],
      ["Banned", isBanned ? "yes" : "no"],
    ],
    waitSeconds,
    href: isBanned ? "#plans-and-limits-bans" : "#plans-and-limits-a-429-worked-through",
    linkText: isBanned ? "How bans work" : "A 429, worked through",
  };
}

/** Which window has the limit is told by its policy, such as `"minute";q=60;w=60, "day";q=1000;w=86400`. */
function usedUp(limit, headers) {
  const policy = headers["ratelimit-policy"] ?? "";
  const [, window = "window"] = new RegExp(`"(\\w+)";q=${limit};`).exec(policy) ?? [];
  return limit === "1" ? `The one request of this ${window} is` : `All ${limit} requests of this ${window} are`;
}
