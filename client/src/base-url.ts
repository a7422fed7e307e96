/**
 * The version segment of REST's paths, in which the published base addresses end. The paths of RPCs do not contain it.
 */
const restVersion = /\/v1\/?$/;

/**
 * The address that RPC paths are appended to. Takes the published base addresses as they are, their `/v1` included.
 * Throws a `TypeError` for what is no http or https address, or has a user, a password, a query or a fragment.
 */
export function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("baseUrl: give an address such as https://petstore.example/v1.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("baseUrl: leave user and password out; the key goes into apiKey.");
  }
  if (url.search !== "" || url.hash !== "") {
    throw new TypeError("baseUrl: leave the query and the fragment out; no request would have them.");
  }
  // Not the path as a relative reference: one that begins with `//` would name another host.
  return new URL(url.origin + url.pathname.replace(restVersion, "/"));
}
