import { createElement } from "../text.js";
import { createBody } from "./answer-body.js";
import { createNotice } from "./notice.js";
import { writeSize } from "./size.js";
import { statusText } from "./status-text.js";

/** Shows an answer in place of the example: status, duration if it is known, size, notice, headers and body. */
export function showAnswer(section, answer, notice) {
  const { status, headers, text, durationMs } = answer;
  const bar = createElement("div", "bar");
  const state = createElement("span", `status s${Math.floor(status / 100)}`, `${status} ${statusText(status)}`.trim());
  const size = writeSize(new Blob([text]).size);
  const facts = durationMs === undefined ? size : `${Math.round(durationMs)} ms · ${size}`;
  bar.append(state, createElement("span", "facts", facts), createClearButton(section));
  revealAnswer(
    section,
    bar,
    ...(notice === undefined ? [] : [createNotice(notice)]),
    createHeaders(headers),
    ...(text === "" ? [] : [createBody(text, headers["content-type"] ?? "")]),
  );
}

/** Shows that there is no answer, and the possible reason. */
export function showSilence(section, text) {
  const bar = createElement("div", "bar");
  bar.append(createElement("span", "status s5", "No answer"), createClearButton(section));
  revealAnswer(section, bar, createNotice({ text }));
}

/** Removes the answer. */
export function clearAnswer(section) {
  const place = section.querySelector(".answer");
  place.replaceChildren();
  place.hidden = true;
  section.querySelector(".example").hidden = false;
}

/** Shows an answer by its parts, in place of the example or the former answer. */
export function revealAnswer(section, ...parts) {
  const place = section.querySelector(".answer");
  place.replaceChildren(...parts);
  place.hidden = false;
  section.querySelector(".example").hidden = true;
  if (isReaderAt(section)) {
    place.scrollIntoView({ block: "nearest" });
  }
}

/**
 * Whether the focus is in a section, or on what it stands in: a click on text focuses the page's content. An answer may
 * come when the reader has gone on to another place.
 */
export function isReaderAt(section) {
  const focused = document.activeElement ?? document.body;
  return focused.contains(section) || section.contains(focused);
}

function createClearButton(section) {
  const button = createElement("button", "clear", "Clear");
  button.type = "button";
  button.addEventListener("click", () => {
    clearAnswer(section);
    section.querySelector("button[type=submit]").focus();
  });
  return button;
}

function createHeaders(headers) {
  const details = createElement("details", "headers");
  const list = createElement("dl", "");
  for (const [name, value] of Object.entries(headers)) {
    list.append(createElement("dt", "", name), createElement("dd", "", value));
  }
  details.append(createElement("summary", "", `${Object.keys(headers).length} headers`), list);
  return details;
}
