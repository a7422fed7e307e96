import { createNotice } from "../answer/notice.js";
import { createElement, setText } from "../text.js";
import { writeTime, writeWait } from "../wait.js";
import { describeChange, Feed, parseChange } from "./feed.js";

/** How often screen readers are told of new changes at most, in milliseconds. */
const announcementMs = 10_000;

/** Shows a stream: its state, its changes, and how it ended. */
export class LivePanel {
  element = document.createElement("div");
  #status = createElement("span", "status");
  #facts = createElement("span", "facts");
  #state = createElement("p", "state");
  #announcement = createElement("p", "unseen");
  #feed = new Feed(() => this.#tick());
  #count = 0;
  #lastChange;
  #heardAtMs;
  #againAtMs;
  #ticking = setInterval(() => this.#tick(), 1_000);
  #announcing;

  /** `onClose` is called when the reader closes the panel. */
  constructor(onClose) {
    const bar = createElement("div", "bar");
    const close = createElement("button", "clear", "Close");
    close.type = "button";
    close.addEventListener("click", onClose);
    bar.append(this.#status, this.#facts, close);
    // The numbers change each second, and are no announcements.
    this.#state.setAttribute("role", "status");
    this.#announcement.setAttribute("role", "status");
    this.element.append(bar, this.#state, this.#announcement, this.#feed.element);
  }

  connecting(isAgain) {
    this.#againAtMs = undefined;
    this.#show("s3", "Connecting", isAgain ? undefined : "Connecting …");
  }

  open(isAgain) {
    this.#heardAtMs = undefined;
    const since = writeTime(new Date());
    const text = isAgain ? `Watching again since ${since}, after the last event: nothing was missed.` : undefined;
    this.#show("s2", "Watching", text ?? `Watching since ${since}.`);
  }

  lost(waitMs) {
    const isStill = this.#status.textContent === "Connecting";
    this.#againAtMs = Date.now() + waitMs;
    const text = `The connection was lost at ${writeTime(new Date())}. It is opened again after the last event.`;
    this.#show("s4", "Connection lost", isStill ? undefined : text);
  }

  heard() {
    this.#heardAtMs = Date.now();
    this.#tick();
  }

  told(json) {
    this.#count += 1;
    this.#lastChange = json;
    this.#feed.add(json);
    this.#announcing ??= setTimeout(() => this.#announce(), announcementMs);
  }

  /** Shows how the stream ended; `notice` explains it. */
  end(text, notice) {
    clearInterval(this.#ticking);
    this.#againAtMs = undefined;
    this.#heardAtMs = undefined;
    this.#show(notice === undefined ? "s3" : "s5", "Ended", text);
    this.#feed.end();
    if (notice !== undefined) {
      this.#state.after(createNotice(notice));
    }
    clearTimeout(this.#announcing);
  }

  #show(kind, status, text) {
    this.#status.className = `status ${kind}`;
    setText(this.#status, status);
    if (text !== undefined) {
      setText(this.#state, text);
    }
    this.#tick();
  }

  #tick() {
    const nowMs = Date.now();
    const seconds = (ms) => Math.max(0, Math.round(ms / 1_000));
    const facts = [writeCount(this.#count)];
    if (this.#againAtMs !== undefined) {
      facts.push(`next attempt in ${writeWait(seconds(this.#againAtMs - nowMs))}`);
    } else if (this.#heardAtMs !== undefined) {
      facts.push(`heartbeat ${writeWait(seconds(nowMs - this.#heardAtMs))} ago`);
    }
    setText(this.#facts, facts.join(" · "));
  }

  #announce() {
    this.#announcing = undefined;
    const change = parseChange(this.#lastChange);
    const last = change === undefined ? "" : ` The last one: ${describeChange(change)}.`;
    setText(this.#announcement, `${writeCount(this.#count)} so far.${last}`);
  }
}

function writeCount(changes) {
  return `${changes.toLocaleString("en")} ${changes === 1 ? "change" : "changes"}`;
}
