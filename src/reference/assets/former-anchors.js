/** Leads links that were given out before to where their targets are now: `#/PetService/getPet` to `#get-pet`. */
export function followFormerAnchors() {
  addEventListener("hashchange", follow);
  follow();
}

const moved = {
  "#overview-where-it-is": "#overview",
  "#overview-good-to-know": "#conventions",
  "#errors-when-you-ask-for-help": "#conventions-request-ids",
  "#errors-in-which-order-a-request-is-judged": "#errors-the-order-of-checks",
};

function follow() {
  const anchor = presentAnchor(location.hash);
  if (anchor !== undefined && document.getElementById(anchor.slice(1)) !== null) {
    location.replace(anchor);
  }
}

/** The anchor that took the place of a former one; undefined for those that are no former ones. */
export function presentAnchor(hash) {
  const [, operation] = /^#\/\w+\/(\w+)$/.exec(hash) ?? [];
  if (operation !== undefined) {
    return `#${operation.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  }
  return hash.startsWith("#operations-tag-") ? "#operations" : Object.hasOwn(moved, hash) ? moved[hash] : undefined;
}
