import { createBody } from "./answer-body.js";
import { createNotice } from "./notice.js";
import { writeSize } from "./size.js";
import { statusText } from "./status-text.js";

/** Shows an answer in place of the example: status, duration if it is known, size, notice, headers and body. */
export function showAnswer(section, answer, notice) {
  const { status, headers, text, durationMs } = answer;
  const bar = element("div", "bar");
  const state = element("span", `status s${Math.floor(status / 100)}`, `${status} ${statusText(status)}`.trim());
  const size = writeSize(new Blob([text]).size);
  const facts = durationMs === undefined ? size : `${Math.round(durationMs)} ms · ${size}`;
  bar.append(state, element("span", "facts", facts), createClearButton(section));
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
  const bar = element("div", "bar");
  bar.append(element("span", "status s5", "No answer"), createClearButton(section));
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
  place.scrollIntoView({ block: "nearest" });
}

function createClearButton(section) {
  const button = element("button", "clear", "Clear");
  button.type = "button";
  button.addEventListener("click", () => {
    clearAnswer(section);
    section.querySelector("button[type=submit]").focus();
  });
  return button;
}

function createHeaders(headers) {
  const details = element("details", "headers");
  const list = element("dl", "");
  for (const [name, value] of Object.entries(headers)) {
    list.append(element("dt", "", name), element("dd", "", value));
  }
  details.append(element("summary", "", `${Object.keys(headers).length} headers`), list);
  return details;
}

function element(name, className, text = "") {
  return Object.assign(document.createElement(name), { className, textContent: text });
}
