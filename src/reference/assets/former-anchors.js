/** Redirects old anchors to the present ones, such as `#/PetService/getPet` to `#get-pet`. */
export function followFormerAnchors() {
  addEventListener("hashchange", follow);
  follow();
}

const moved = {
  "#overview-where-it-is": "#overview",
  "#overview-good-to-know": "#conventions",
  "#conventions-unchanged-lists": "#conventions-unchanged-answers",
  "#errors-when-you-ask-for-help": "#conventions-request-ids",
  "#errors-in-which-order-a-request-is-judged": "#errors-the-order-of-checks",
};

function follow() {
  const anchor = presentAnchor(location.hash);
  if (anchor !== undefined && document.getElementById(anchor.slice(1)) !== null) {
    location.replace(anchor);
  }
}

/** The present anchor for an old one; undefined for any other anchor. */
export function presentAnchor(hash) {
  const [, operation] = /^#\/\w+\/(\w+)$/.exec(hash) ?? [];
  if (operation !== undefined) {
    return `#${operation.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  }
  return hash.startsWith("#operations-tag-") ? "#operations" : Object.hasOwn(moved, hash) ? moved[hash] : undefined;
}
