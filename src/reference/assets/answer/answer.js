import { createBody } from "./answer-body.js";
import { createNotice } from "./notice.js";
import { writeSize } from "./size.js";
import { statusText } from "./status-text.js";

/** Shows an answer in place of the example: status, duration, size, notice, headers and body. */
export function showAnswer(section, answer, notice) {
  const { status, headers, text, durationMs } = answer;
  const place = clearAnswer(section);
  const bar = element("div", "bar");
  const state = element("span", `status s${Math.floor(status / 100)}`, `${status} ${statusText(status)}`.trim());
  const facts = element("span", "facts", `${Math.round(durationMs)} ms · ${writeSize(new Blob([text]).size)}`);
  bar.append(state, facts, createClearButton(section));
  place.append(bar, ...(notice === undefined ? [] : [createNotice(notice)]), createHeaders(headers));
  if (text !== "") {
    place.append(createBody(text, headers["content-type"] ?? ""));
  }
  reveal(section, place);
}

/** Shows that there is no answer, and the possible reason. */
export function showSilence(section, text) {
  const place = clearAnswer(section);
  const bar = element("div", "bar");
  bar.append(element("span", "status s5", "No answer"), createClearButton(section));
  place.append(bar, createNotice({ text }));
  reveal(section, place);
}

/** Removes the answer. Returns its element. */
export function clearAnswer(section) {
  const place = section.querySelector(".answer");
  place.replaceChildren();
  place.hidden = true;
  section.querySelector(".example").hidden = false;
  return place;
}

function reveal(section, place) {
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
