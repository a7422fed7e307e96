/** Creates an element with a class and a text. */
export function createElement(name, className, text = "") {
  return Object.assign(document.createElement(name), { className, textContent: text });
}

/** Sets the text of an element where it differs: screen readers announce each change. */
export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** The members of a JSON object; none for any other text. Callers read no numbers of it, which may have lost digits. */
export function parseMembers(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
