import { highlight } from "./highlight.js";

/** Shows the answer that the reader chooses among the examples of an operation. */
export function connectExamples() {
  for (const example of document.querySelectorAll(".example")) {
    const choice = example.querySelector("select");
    choice.addEventListener("change", () => {
      example.querySelector("code").innerHTML = highlight(choice.value, "json");
    });
  }
}
