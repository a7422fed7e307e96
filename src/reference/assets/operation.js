import { clearAnswer, showAnswer, showSilence } from "./answer/answer.js";
import { describeAnswer } from "./answer/answer-notice.js";
import { clearFaults, faultOfAnswer, showFault } from "./answer/field-fault.js";
import { highlight } from "./highlight.js";
import { NoAnswer } from "./key/api.js";
import { askForKey } from "./key/key-bar.js";
import { createCall } from "./samples/call.js";
import { sampleLanguages } from "./samples/languages.js";
import { setText } from "./text.js";
import { writeWait } from "./wait.js";

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
  const updateSamples = () => showSamples(section, createCall(operation, readInput(form), api.baseUrl));
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
  const sender = new Sender(section, operation, api);
  form.addEventListener("input", ({ target }) => {
    clearFaults(target.closest("[data-field]"));
    updateSamples();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void sender.send(createCall(operation, readInput(form), api.baseUrl));
  });
  // Browsers restore the input of a page that the reader comes back to.
  if (form.querySelector("input, textarea") !== null) {
    addEventListener("pageshow", updateSamples);
  }
}

/** The input by the names of the controls, and the body. */
function readInput(form) {
  if (form.dataset.input !== undefined) {
    return JSON.parse(form.dataset.input);
  }
  const data = new FormData(form);
  const { body, ...values } = Object.fromEntries([...new Set(data.keys())].map((name) => [name, data.getAll(name)]));
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

/** Sends an operation when the reader presses its button. */
class Sender {
  #section;
  #operation;
  #api;
  #button;
  #note;
  #isSending = false;

  constructor(section, operation, api) {
    this.#section = section;
    this.#operation = operation;
    this.#api = api;
    this.#button = section.querySelector("button[type=submit]");
    this.#note = section.querySelector(".sender");
    api.addEventListener("change", () => this.#showState());
    setInterval(() => this.#showState(), 500);
    this.#showState();
  }

  /** Sends a call, if it is complete. Removes the former answer in any case. */
  async send(call) {
    if (this.#isSending || this.#pausedSeconds > 0) {
      return;
    }
    clearFaults(this.#section);
    clearAnswer(this.#section);
    if (this.#api.key === undefined) {
      askForKey("Enter your API key first.");
      return;
    }
    const missing = this.#operation.parameters.find(
      ({ name, in: place }) => place === "path" && call.url.includes(`{${name}}`),
    );
    if (missing !== undefined) {
      showFault(this.#section, missing.name, `${missing.name} is needed: it is part of the path.`);
      return;
    }
    this.#isSending = true;
    this.#showState();
    await this.#receive(call);
    this.#isSending = false;
    this.#showState();
  }

  async #receive(call) {
    try {
      const answer = await this.#api.send(call);
      const fault = faultOfAnswer(answer, this.#operation);
      const notice = fault === undefined ? describeAnswer(answer) : undefined;
      showAnswer(this.#section, answer, notice);
      if (fault !== undefined) {
        showFault(this.#section, fault.name, fault.message);
      }
    } catch (reason) {
      if (!(reason instanceof NoAnswer)) {
        throw reason;
      }
      showSilence(this.#section, reason.message);
    }
  }

  /** An operation that is free of charge can be sent while the key is paused. */
  get #pausedSeconds() {
    return this.#section.hasAttribute("data-free") ? 0 : this.#api.pausedSeconds;
  }

  #showState() {
    const seconds = this.#pausedSeconds;
    const isPaused = seconds > 0;
    setText(this.#button, this.#isSending ? "Sending …" : isPaused ? `Wait ${shortWait(seconds)}` : "Send");
    // A disabled button would lose the focus.
    this.#button.setAttribute("aria-disabled", String(this.#isSending || isPaused));
    const { host } = new URL(this.#api.baseUrl);
    const ready = this.#api.key === undefined ? "Needs your API key" : `To ${host}`;
    setText(this.#note, isPaused ? "The key has to wait" : ready);
  }
}

function shortWait(seconds) {
  return seconds < 120 ? `${seconds} s` : writeWait(seconds);
}
