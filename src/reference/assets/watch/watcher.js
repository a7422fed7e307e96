import { clearAnswer, revealAnswer, showSilence } from "../answer/answer.js";
import { describeAnswer } from "../answer/answer-notice.js";
import { clearFaults } from "../answer/field-fault.js";
import { showOutcome } from "../answer/outcome.js";
import { askForKey } from "../key/key-bar.js";
import { SendButton } from "../send-button.js";
import { writeTime } from "../wait.js";
import { LivePanel } from "./live-panel.js";
import { Watching } from "./watching.js";

/** Watches an operation that streams, when the reader presses its button; pressed again, it stops. */
export class Watcher {
  #section;
  #operation;
  #api;
  #button;
  /** The stream that is open or being opened; undefined for none. */
  #stream;

  constructor(section, operation, api) {
    this.#section = section;
    this.#operation = operation;
    this.#api = api;
    this.#button = new SendButton(section, api);
    addEventListener("pagehide", () => this.#stop("It was stopped as you left the page."));
    api.addEventListener("change", () => {
      if (this.#stream !== undefined && this.#stream.key !== api.key) {
        this.#stop("It was stopped, as its key is no longer in use here.");
      }
    });
  }

  /** Opens the stream of a call; or stops the one that there is. */
  send(call) {
    if (this.#stream !== undefined) {
      this.#stop(`Stopped at ${writeTime(new Date())}.`);
      return;
    }
    if (this.#button.pausedSeconds > 0) {
      return;
    }
    clearFaults(this.#section);
    clearAnswer(this.#section);
    if (this.#api.key === undefined) {
      askForKey("Enter your API key first.", this.#button);
      return;
    }
    this.#start(call);
  }

  #start(call) {
    const panel = new LivePanel(() => this.#close());
    const open = (lastEventId, signal) => this.#api.open(requestOf(call, lastEventId), signal);
    let isAgain = false;
    const watching = new Watching(open, {
      connecting: () => panel.connecting(isAgain),
      opened: () => {
        panel.open(isAgain);
        isAgain = true;
      },
      told: ({ data }) => panel.told(data),
      heard: () => panel.heard(),
      lost: (waitMs) => panel.lost(waitMs),
      ended: (end) => this.#end(end, isAgain),
    });
    this.#stream = { watching, panel, key: this.#api.key };
    revealAnswer(this.#section, panel.element);
    this.#button.show("Stop");
    void watching.run();
  }

  /** A stream that never opened is answered as any other call. */
  #end({ answer, isRefusal, silence }, wasOpen) {
    const { panel } = this.#leave();
    if (wasOpen) {
      const text = `${isRefusal ? "It could not be opened again" : "The service ended it"} at ${writeTime(new Date())}.`;
      panel.end(text, describeAnswer(answer) ?? { text: `The service answered ${answer.status}.` });
      return;
    }
    panel.end("");
    if (answer === undefined) {
      showSilence(this.#section, silence);
    } else {
      showOutcome(this.#section, this.#operation, answer);
    }
  }

  #stop(text) {
    if (this.#stream !== undefined) {
      this.#leave().panel.end(text);
    }
  }

  #close() {
    this.#stop("");
    clearAnswer(this.#section);
    this.#button.focus();
  }

  #leave() {
    const stream = this.#stream;
    this.#stream = undefined;
    stream.watching.stop();
    this.#button.show();
    return stream;
  }
}

/** The request that goes on after an event. */
function requestOf({ method, url, headers }, lastEventId) {
  const accept = ["Accept", "text/event-stream"];
  const others = headers.filter(([name]) => lastEventId === undefined || name !== "Last-Event-ID");
  return { method, url, headers: [...others, accept, ...(lastEventId ? [["Last-Event-ID", lastEventId]] : [])] };
}
