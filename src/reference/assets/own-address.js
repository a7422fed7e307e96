import { hostOf } from "./samples/grpc.js";

/**
 * Replaces the server's own origin in all code with the origin that the browser uses: they differ behind a proxy, and the
 * code is there to be copied. `ownOrigin` is undefined when base URLs are configured.
 */
export function showOwnAddress(ownOrigin) {
  if (ownOrigin === undefined || ownOrigin === location.origin) {
    return;
  }
  const isEncrypted = location.protocol === "https:";
  for (const text of codeTexts(document)) {
    const shown = withAddress(text.data, ownOrigin, location.origin);
    text.data = isEncrypted && /^(-plaintext|--http2-prior-knowledge)$/.test(shown) ? "" : shown;
  }
}

/** A text with one origin in place of another. grpcurl names the host and the port alone. */
export function withAddress(text, ownOrigin, origin) {
  const addresses = [ownOrigin, hostOf(ownOrigin)].map((address) => address.replace(/\W/g, "\\$&"));
  // What goes on after it, such as with another port, is another address.
  const ownAddress = new RegExp(`(?:${addresses.join("|")})(?![\\w:.-])`, "g");
  return text.replace(ownAddress, (found) => (found === ownOrigin ? origin : hostOf(origin)));
}

function codeTexts(root) {
  return [...root.querySelectorAll("code")].flatMap((code) => {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) {
      texts.push(walker.currentNode);
    }
    return texts;
  });
}
