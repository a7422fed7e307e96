/**
 * The headers of the page that keep it to itself: it runs only the scripts and styles of its own server, and calls only
 * that and the origins of the API.
 *
 * Source: https://www.w3.org/TR/CSP3/
 */
export function securityHeader(apiOrigins: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...new Set(apiOrigins)].join(" "),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    "content-security-policy": policy.join("; "),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
}
