import { setText } from "./text.js";
import { writeWait } from "./wait.js";

/** The button that sends an operation, and the note beside it. While the key has to wait, it is disabled and says so. */
export class SendButton {
  #section;
  #api;
  #button;
  #note;
  #usual;
  /** What it says while a call is under way; undefined otherwise. */
  #label;
  #isLocked = false;

  constructor(section, api) {
    this.#section = section;
    this.#api = api;
    this.#button = section.querySelector("button[type=submit]");
    this.#note = section.querySelector(".sender");
    this.#usual = this.#button.textContent;
    api.addEventListener("change", () => this.#update());
    setInterval(() => this.#update(), 500);
    this.#update();
  }

  /** Seconds until the operation may be sent. One that is free of charge can be sent while the key has to wait. */
  get pausedSeconds() {
    return this.#section.hasAttribute("data-free") ? 0 : this.#api.pausedSeconds;
  }

  /** Shows what pressing it does while a call is under way; without a label, what it does otherwise. */
  show(label) {
    this.#label = label;
    this.#isLocked = false;
    this.#update();
  }

  /** Shows that a call is under way, which pressing it would not change. */
  lock(label) {
    this.#label = label;
    this.#isLocked = true;
    this.#update();
  }

  focus() {
    this.#button.focus();
  }

  #update() {
    const seconds = this.pausedSeconds;
    const isPaused = seconds > 0;
    const usual = isPaused ? `Wait ${shortWait(seconds)}` : this.#usual;
    setText(this.#button, this.#label ?? usual);
    // A disabled button would lose the focus.
    this.#button.setAttribute("aria-disabled", String(this.#isLocked || (isPaused && this.#label === undefined)));
    const { host } = new URL(this.#api.baseUrl);
    const ready = this.#api.key === undefined ? "Needs your API key" : `To ${host}`;
    setText(this.#note, isPaused ? "The key has to wait" : ready);
  }
}

function shortWait(seconds) {
  return seconds < 120 ? `${seconds} s` : writeWait(seconds);
}
