/**
 * Headers and trailers as one. What stands in both, alike, is taken once: gRPC errors bear in their trailers what is in
 * their headers too. What differs is joined.
 */
export function mergeHeaders(headers: Headers, trailers: Headers): Headers {
  const merged = new Headers(headers);
  trailers.forEach((value, name) => {
    if (headers.get(name) !== value) {
      merged.append(name, value);
    }
  });
  return merged;
}
