/** Reads a base address: an absolute address of HTTP that ends in `/v1`. Source: docs/contract.md#stability */
export function parseBaseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) {
    return undefined;
  }
  const { href, protocol, username, password } = new URL(text);
  const isPlain = username === "" && password === "" && !/[?#]/.test(href);
  return isPlain && (protocol === "https:" || protocol === "http:") && href.endsWith("/v1") ? href : undefined;
}
