/** Reads an origin as browsers send it: `https://example.com`, with no path. Source: RFC 6454, section 6.2. */
export function parseOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) {
    return undefined;
  }
  const { origin, protocol } = new URL(text);
  return origin === text && (protocol === "https:" || protocol === "http:") ? origin : undefined;
}
