import { clearAnswer, showSilence } from "./answer/answer.js";
import { clearFaults, showFault } from "./answer/field-fault.js";
import { showOutcome } from "./answer/outcome.js";
import { NoAnswer } from "./key/api.js";
import { askForKey } from "./key/key-bar.js";
import { SendButton } from "./send-button.js";

/** Sends an operation when the reader presses its button. */
export class Sender {
  #section;
  #operation;
  #api;
  #button;
  #isSending = false;

  constructor(section, operation, api) {
    this.#section = section;
    this.#operation = operation;
    this.#api = api;
    this.#button = new SendButton(section, api);
  }

  /** Sends a call, if it is complete. Removes the former answer in any case. */
  async send(call) {
    if (this.#isSending || this.#button.pausedSeconds > 0) {
      return;
    }
    clearFaults(this.#section);
    clearAnswer(this.#section);
    if (this.#api.key === undefined) {
      askForKey("Enter your API key first.", this.#button);
      return;
    }
    if (call.pathFault !== undefined) {
      showFault(this.#section, call.pathFault.name, call.pathFault.message);
      return;
    }
    this.#isSending = true;
    this.#button.lock("Sending …");
    try {
      await this.#receive(call);
    } finally {
      this.#isSending = false;
      this.#button.show();
    }
  }

  async #receive(call) {
    try {
      showOutcome(this.#section, this.#operation, await this.#api.send(call));
    } catch (reason) {
      if (!(reason instanceof NoAnswer)) {
        throw reason;
      }
      showSilence(this.#section, reason.message);
    }
  }
}
