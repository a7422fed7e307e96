/** Links to operations: `#/PetService/getPet` opens one, and the anchors of the chapters are none of its business. */
export function linkPlugin() {
  return {
    statePlugins: {
      layout: {
        wrapActions: {
          parseDeepLinkHash: (parse) => (hash) => (hash.startsWith("#/") ? parse(hash) : { type: "not_an_operation" }),
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
