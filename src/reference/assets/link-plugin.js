/** Links to operations: `#/PetService/getPet` opens one, and the anchors of the chapters are none of its business. */
export function linkPlugin() {
  return {
    statePlugins: {
      layout: {
        wrapActions: {
          parseDeepLinkHash: (parse) => (hash) => (isOperation(hash) ? parse(hash) : { type: "not_an_operation" }),
          // The browser's own scrolling heeds margins, and readers who want no motion.
          scrollToElement: () => (element) => {
            element.scrollIntoView();
            return { type: "scrolled" };
          },
        },
      },
    },
  };
}

/** Takes away a fragment that cannot be decoded: it leads nowhere, and Swagger UI would fail over it. */
export function dropMalformedFragment() {
  try {
    decodeURIComponent(location.hash);
  } catch {
    history.replaceState(null, "", location.pathname);
  }
}

/** Anybody can write a link: in this one there may be no more than in the names of services and methods. */
function isOperation(hash) {
  return /^#\/\w+\/\w+$/.test(hash);
}
