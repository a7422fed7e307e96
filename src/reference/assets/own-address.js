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
    const shown = text.data
      .replaceAll(ownOrigin, location.origin)
      .replaceAll(hostOf(ownOrigin), hostOf(location.origin));
    text.data = isEncrypted && /^(-plaintext|--http2-prior-knowledge)$/.test(shown) ? "" : shown;
  }
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
