/** A React component that shows a copy of the page's `<template>` of a name; nothing where there is none. */
export function templateElement(React) {
  function fill(element, name) {
    const template = document.getElementById(name);
    if (element !== null && template !== null && element.childNodes.length === 0) {
      element.append(template.content.cloneNode(true));
    }
  }
  return React.memo(({ name }) =>
    React.createElement("span", { className: "template", ref: (element) => fill(element, name) }),
  );
}
