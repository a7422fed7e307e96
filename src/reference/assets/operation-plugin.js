import { templateElement } from "./template.js";

/** What the description says of an operation beyond OpenAPI: badges, code samples, and whether it can be tried. */
export function operationPlugin({ React }) {
  const h = React.createElement;
  const Template = templateElement(React);
  const isTriable = (system, path, method) =>
    system.specSelectors.specJson().getIn(["paths", path, method, "x-try-it-out"]) !== false;

  return {
    wrapComponents: {
      OperationSummaryPath: (Path) => (props) => {
        const id = props.operationProps.get("operationId");
        return h("span", { className: "summary-path" }, h(Path, props), h(Template, { name: `badge-${id}` }));
      },
      // Its choices among the values of an enum have no name of their own.
      JsonSchemaForm: (Form) => (props) =>
        h("label", null, h("span", { className: "unseen" }, props.description), h(Form, props)),
      parameters: (Parameters, system) => (props) => {
        const [path, method] = props.pathMethod;
        return h(
          React.Fragment,
          null,
          h(Template, { name: `samples-${props.operation.get("operationId")}` }),
          h(Parameters, props),
          !isTriable(system, path, method) &&
            h("p", { className: "untriable" }, "This operation cannot be tried from this page. Use a sample above."),
        );
      },
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: (_, system) => (_state, path, method) => isTriable(system, path, method),
        },
      },
    },
  };
}
