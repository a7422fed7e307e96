import { addCopyButton } from "../copy.js";
import { highlight } from "../highlight.js";
import { createElement } from "../text.js";
import { jsonLines } from "./json-lines.js";
import { writeSize } from "./size.js";

/** How many lines of an answer are shown. A whole list can have hundreds of thousands, which would freeze the browser. */
const maxLines = 1_000;

/** The body of an answer, with JSON indented and highlighted. A long one is cut, with a button that saves all of it. */
export function createBody(text, contentType) {
  const isJson = /json/.test(contentType);
  const { shown, isWhole } = beginningOf(isJson ? jsonLines(text) : text.split("\n"));
  const body = document.createElement("div");
  const block = document.createElement("div");
  block.className = "code body";
  const pre = document.createElement("pre");
  pre.tabIndex = 0;
  const code = document.createElement("code");
  code.innerHTML = highlight(shown, isJson ? "json" : "text");
  pre.append(code);
  block.append(pre);
  addCopyButton(block);
  body.append(block, ...(isWhole ? [] : [createRest(text)]));
  return body;
}

function beginningOf(allLines) {
  const lines = [];
  for (const line of allLines) {
    if (lines.length === maxLines) {
      return { shown: lines.join("\n"), isWhole: false };
    }
    lines.push(line);
  }
  return { shown: lines.join("\n"), isWhole: true };
}

function createRest(text) {
  const rest = createElement("p", "rest", `These are the first ${maxLines.toLocaleString("en")} lines. `);
  const button = createElement("button", "", `Save the whole answer (${writeSize(new Blob([text]).size)})`);
  button.type = "button";
  button.addEventListener("click", () => save(text));
  rest.append(button);
  return rest;
}

function save(text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "answer.json";
  link.click();
  URL.revokeObjectURL(link.href);
}
