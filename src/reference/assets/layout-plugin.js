const nothing = () => null;

/** The frame of the operations: one section a service, always open, and no more than this page needs. */
export function layoutPlugin({ React }) {
  const h = React.createElement;

  function ReferenceLayout({ getComponent, specSelectors, errSelectors }) {
    const [Servers, Operations, Errors] = ["ServersContainer", "operations", "errors"].map((name) =>
      getComponent(name, true),
    );
    if (specSelectors.loadingStatus() !== "success" && errSelectors.allErrors().size === 0) {
      return h("p", { role: "status" }, "Loading the operations …");
    }
    const hasChoice = specSelectors.servers()?.size > 1;
    return h("div", { className: "swagger-ui" }, h(Errors), hasChoice && h(Servers), h(Operations));
  }

  function OperationTag({ tag, tagObj, getComponent, children }) {
    const Markdown = getComponent("Markdown", true);
    const description = tagObj.getIn(["tagDetails", "description"]);
    return h(
      "div",
      { className: "service", id: `operations-tag-${tag}` },
      h("h3", null, tag),
      description && h(Markdown, { source: description }),
      children,
    );
  }

  return {
    components: {
      ReferenceLayout,
      OperationTag,
      // A link cannot stand within the button that opens an operation.
      DeepLink: ({ text }) => h("span", null, text),
      CopyToClipboardBtn: nothing,
      authorizeOperationBtn: nothing,
      JumpToPath: nothing,
    },
  };
}
