/**
 * Puts the address of the page's own server where code has the one that servers take by default: the description names
 * no other, and code is there to be copied. `ownOrigin` is undefined where addresses are configured.
 */
export function showOwnAddress(ownOrigin) {
  if (ownOrigin === undefined) {
    return;
  }
  const { host } = new URL(ownOrigin);
  const isEncrypted = location.protocol === "https:";
  const ownHost = `${location.hostname}:${location.port || (isEncrypted ? 443 : 80)}`;
  const roots = [document, ...[...document.querySelectorAll("template")].map(({ content }) => content)];
  for (const text of roots.flatMap(codeTexts)) {
    const shown = text.data.replaceAll(ownOrigin, location.origin).replaceAll(host, ownHost);
    text.data = isEncrypted && shown === "-plaintext" ? "" : shown;
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
