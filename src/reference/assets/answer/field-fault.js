import { createElement, parseMembers } from "../text.js";
import { isReaderAt } from "./answer.js";

/**
 * The field that a refusal names, as the name of a parameter or `body`, with the error. Undefined when it names no
 * field.
 */
export function faultOfAnswer({ status, text }, { parameters, bodyField, request }) {
  const { code, message } = status === 400 ? parseMembers(text) : {};
  if (typeof message !== "string") {
    return undefined;
  }
  if (code === "INVALID_PAGE_TOKEN") {
    return { name: "pageToken", message };
  }
  const [, path = ""] = /^([\w.[\]-]+): /.exec(message) ?? [];
  const name = path.replace(/\[\d+\]$/, "").replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  if (parameters.some((parameter) => parameter.name === name)) {
    const what = message.slice(message.indexOf(": ") + 2);
    return { name, message: what.charAt(0).toUpperCase() + what.slice(1) };
  }
  const first = name.split(/[.[]/)[0];
  const fields = bodyField === "*" ? request : (request[bodyField]?.fields ?? {});
  const isInBody = first !== "" && (first === bodyField || Object.hasOwn(fields, first));
  return isInBody || (bodyField !== undefined && message.startsWith("The request body"))
    ? { name: "body", message }
    : undefined;
}

/** Shows an error beside its field, and moves the focus there unless the reader has gone on to another place. */
export function showFault(section, name, message) {
  const field = section.querySelector(`form [data-field="${CSS.escape(name)}"]`);
  const control = field?.querySelector("input, textarea") ?? null;
  if (control === null) {
    return;
  }
  const note = createElement("p", "fault", message);
  note.id = `${section.id}-${name}-fault`;
  (field.querySelector(".entry") ?? field).append(note);
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", note.id);
  if (isReaderAt(section)) {
    // The label is above the control, and stays in sight.
    control.focus({ preventScroll: true });
    field.scrollIntoView({ block: "nearest" });
  }
}

/** Removes the errors of the fields within an element. */
export function clearFaults(element) {
  for (const note of element?.querySelectorAll(".fault") ?? []) {
    note.remove();
  }
  for (const control of element?.querySelectorAll("[aria-invalid]") ?? []) {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  }
}
