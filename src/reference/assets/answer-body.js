import { jsonLines } from "./json-lines.js";

/** How many lines of an answer are shown: browsers stand still over the hundred thousands that a whole list may have. */
const maxLines = 1_000;

/** An answer's JSON, indented; of a long one the beginning, and a button that saves all of it. */
export function answerBody(React) {
  const h = React.createElement;
  return function AnswerBody({ text }) {
    const { shown, isWhole } = React.useMemo(() => beginningOf(text), [text]);
    return h(
      "div",
      null,
      h("h5", null, "Response body"),
      h("pre", { className: "body", tabIndex: 0 }, shown),
      !isWhole && h("p", { className: "cut" }, `These are the first ${maxLines} lines.`, h(SaveButton, { text })),
    );
  };

  function SaveButton({ text }) {
    const label = `Save the whole answer (${writeSize(new Blob([text]).size)})`;
    return h("button", { type: "button", className: "btn", onClick: () => save(text) }, label);
  }
}

function beginningOf(text) {
  const lines = [];
  for (const line of jsonLines(text)) {
    if (lines.length === maxLines) {
      return { shown: lines.join("\n"), isWhole: false };
    }
    lines.push(line);
  }
  return { shown: lines.join("\n"), isWhole: true };
}

function writeSize(bytes) {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function save(text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "answer.json";
  link.click();
  URL.revokeObjectURL(link.href);
}
