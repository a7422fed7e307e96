import { ExactNumber, parseExactJson } from "../exact-json.js";
import { createElement } from "../text.js";
import { writeTime } from "../wait.js";

/** How many changes are shown. */
const maxShown = 200;

/**
 * The changes that a stream tells, the newest first. While the reader has scrolled down, or has selected text, further
 * changes wait behind a button, so that nothing moves that is being read.
 */
export class Feed {
  element = createElement("div", "feed");
  #box = createElement("div", "changes");
  #list = document.createElement("ul");
  #none = createElement("p", "none", "No change yet. Each one is shown here as it is made.");
  #newer = createElement("button", "newer");
  /** The texts of those that are not shown yet, the oldest first. */
  #waiting = [];
  /** How many came since the list was brought up to date, those that are no longer kept included. */
  #waitingCount = 0;
  #frame;
  #onFrame;

  /** `onFrame` is called after changes have come, once for all of a frame. */
  constructor(onFrame) {
    this.#onFrame = onFrame;
    this.#box.tabIndex = 0;
    this.#box.setAttribute("role", "region");
    this.#box.setAttribute("aria-label", `The last ${maxShown} changes, the newest first`);
    this.#newer.type = "button";
    this.#newer.hidden = true;
    this.#newer.addEventListener("click", () => {
      this.#show();
      this.#box.scrollTop = 0;
      this.#box.focus();
    });
    this.#box.addEventListener("scroll", () => this.#update(), { passive: true });
    this.#box.append(this.#none, this.#list);
    this.element.append(this.#newer, this.#box);
  }

  /** Adds a change by its JSON. It is shown with the others of this frame. */
  add(json) {
    this.#waiting.push(json);
    this.#waitingCount += 1;
    if (this.#waiting.length > maxShown) {
      this.#waiting.shift();
    }
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#update();
      this.#onFrame();
    });
  }

  /** To be called when nothing more comes. */
  end() {
    cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#update();
  }

  #update() {
    if (!this.#isBeingRead()) {
      this.#show();
    }
    const count = this.#waitingCount;
    this.#newer.hidden = count === 0;
    this.#newer.textContent = `Show ${count.toLocaleString("en")} new ${count === 1 ? "change" : "changes"}`;
  }

  #isBeingRead() {
    const selection = document.getSelection();
    const isSelected = selection !== null && !selection.isCollapsed && this.#list.contains(selection.anchorNode);
    return this.#box.scrollTop > 0 || isSelected;
  }

  #show() {
    if (this.#waitingCount === 0) {
      return;
    }
    this.#list.prepend(...this.#waiting.reverse().map(createItem));
    while (this.#list.children.length > maxShown) {
      this.#list.lastElementChild.remove();
    }
    this.#waiting = [];
    this.#waitingCount = 0;
    this.#newer.hidden = true;
    this.#none.hidden = true;
  }
}

/** The members of a change; undefined for what is no JSON object. Its numbers are `ExactNumber`s. */
export function parseChange(json) {
  try {
    const change = parseExactJson(json);
    return typeof change === "object" && change !== null ? change : undefined;
  } catch {
    return undefined;
  }
}

/** What a change does, such as `pet 7: 12 → 10`. */
export function describeChange({ petId, before, after }) {
  return `pet ${write(petId)}: ${before === undefined ? "new" : write(before)} → ${write(after)}`;
}

function write(value) {
  return value instanceof ExactNumber ? value.text : String(value);
}

function createItem(json) {
  const item = document.createElement("li");
  const change = parseChange(json);
  if (change === undefined) {
    item.textContent = json;
    return item;
  }
  const { kind, cursor, occurredAt, reason, reference } = change;
  const time = createElement("time", "", writeTime(new Date(String(occurredAt))));
  time.dateTime = String(occurredAt);
  const why = [reason, reference].filter((text) => text !== undefined).join(" · ");
  item.append(time, createElement("strong", "", describeChange(change)), createElement("span", "kind", String(kind)));
  item.append(
    ...(why === "" ? [] : [createElement("span", "why", why)]),
    createElement("code", "cursor", String(cursor)),
  );
  return item;
}
