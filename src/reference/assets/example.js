import { highlight } from "./highlight.js";

/** Shows the example answer that the reader selects. */
export function connectExamples() {
  for (const example of document.querySelectorAll(".example")) {
    const choice = example.querySelector("select");
    choice.addEventListener("change", () => {
      example.querySelector("code").innerHTML = highlight(choice.value, "json");
    });
  }
}
