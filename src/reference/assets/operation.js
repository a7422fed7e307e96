import { clearFaults } from "./answer/field-fault.js";
import { highlight } from "./highlight.js";
import { createCall } from "./samples/call.js";
import { sampleLanguages } from "./samples/languages.js";
import { Sender } from "./sender.js";
import { Watcher } from "./watch/watcher.js";

/** Lets readers send each operation, and updates its samples as they type. */
export function connectOperations(api) {
  for (const section of document.querySelectorAll(".operation")) {
    connectOperation(section, api);
  }
}

function connectOperation(section, api) {
  const operation = JSON.parse(section.dataset.call);
  const button = section.querySelector("button[type=submit]");
  const form = section.querySelector(".explained");
  const updateSamples = () => showSamples(section, createCall(operation, readInput(form, operation), api.baseUrl));
  let baseUrl = api.baseUrl;
  api.addEventListener("change", () => {
    if (baseUrl !== api.baseUrl) {
      baseUrl = api.baseUrl;
      updateSamples();
    }
  });
  if (button === null) {
    return;
  }
  const sender = new (operation.isStream ? Watcher : Sender)(section, operation, api);
  form.addEventListener("input", ({ target }) => {
    clearFaults(target.closest("[data-field]"));
    updateSamples();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void sender.send(createCall(operation, readInput(form, operation), api.baseUrl));
  });
  // Enter adds a line to a body.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      form.requestSubmit(button);
    }
  });
  // Browsers restore the input of a page that the reader comes back to.
  if (form.querySelector("input, textarea") !== null) {
    addEventListener("pageshow", updateSamples);
  }
}

/** The input by the names of the controls, and the body. Commas or spaces separate the values of a list. */
function readInput(form, { request }) {
  if (form.dataset.input !== undefined) {
    return JSON.parse(form.dataset.input);
  }
  const data = new FormData(form);
  const textsOf = (name) =>
    data.getAll(name).flatMap((text) => (request[name]?.repeated === true ? text.split(/[\s,]+/) : text));
  const { body, ...values } = Object.fromEntries([...new Set(data.keys())].map((name) => [name, textsOf(name)]));
  return body === undefined ? { values } : { values, body: body[0] };
}

/** Hidden languages are updated too, because the reader can select them at any time. */
function showSamples(section, call) {
  for (const { id, syntax, write } of sampleLanguages) {
    const code = section.querySelector(`[role=tabpanel][data-language="${id}"] code`);
    const written = write(call);
    if (code.textContent !== written) {
      code.innerHTML = highlight(written, syntax);
    }
  }
}
