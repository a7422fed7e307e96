/** How many results are shown. */
const maxResults = 12;

/** Other words for places, by the ids of these. */
const otherWords = {
  "adjust-inventory": "overselling",
  "watch-stock-changes": "sse",
  "changing-stock-holds": "overselling",
  "changing-stock-sending-a-write-again": "idempotent duplicates",
};

/**
 * Searches operations with their fields, guides and error codes. `/`, Ctrl+K and ⌘K open the search, arrows select,
 * Enter follows.
 *
 * Source: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/
 */
export function connectSearch() {
  const dialog = createDialog();
  const [input, list, none] = ["input", "ul", "p"].map((name) => dialog.querySelector(name));
  const results = new Results(list, input);
  const places = listPlaces();

  function show() {
    const found = search(places, input.value).slice(0, maxResults);
    none.textContent = found.length === 0 ? `Nothing is found for “${input.value}”.` : "";
    results.show(found);
  }

  function open() {
    if (!dialog.open) {
      input.value = "";
      dialog.showModal();
      show();
    }
  }

  function go(result) {
    if (result !== undefined && result !== null) {
      dialog.close();
      location.hash = result.dataset.id;
      // The browser does not move if the address is the same as before.
      document.getElementById(result.dataset.id)?.scrollIntoView();
    }
  }

  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    // Keys of an input method are not for the search. Safari tells of its last Enter only by this code.
    if (event.isComposing || event.keyCode === 229) {
      return;
    }
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      results.move(move);
    } else if (event.key === "Enter") {
      event.preventDefault();
      go(results.chosen);
    }
  });
  list.addEventListener("click", ({ target }) => go(target.closest("li")));
  // The content covers the dialog, so a click on the dialog itself is one on its backdrop.
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.querySelector("button.find").addEventListener("click", open);
  addEventListener("keydown", (event) => {
    if ((event.key === "/" && !isEntering(event.target)) || isSearchShortcut(event)) {
      event.preventDefault();
      open();
    }
  });
}

function createDialog() {
  const dialog = document.createElement("dialog");
  dialog.className = "search";
  dialog.setAttribute("aria-label", "Search");
  dialog.innerHTML =
    '<input type="text" role="combobox" aria-label="Search operations, guides and error codes" aria-controls="found"' +
    ' aria-expanded="true" aria-autocomplete="list" autocomplete="off" spellcheck="false" placeholder="Operations, guides, error codes">' +
    '<ul id="found" role="listbox" aria-label="Results"></ul><p class="none" role="status"></p>';
  document.body.append(dialog);
  return dialog;
}

/** The list of results, of which one is chosen. The input has the focus all the time. */
class Results {
  #list;
  #input;
  #index = 0;

  constructor(list, input) {
    this.#list = list;
    this.#input = input;
  }

  /** Undefined where nothing was found. */
  get chosen() {
    return this.#list.children[this.#index];
  }

  show(found) {
    this.#list.replaceChildren(...found.map(createResult));
    this.#choose(0);
  }

  move(by) {
    this.#choose(this.#index + by);
  }

  #choose(index) {
    const results = [...this.#list.children];
    this.#index = results.length === 0 ? 0 : (index + results.length) % results.length;
    for (const [i, result] of results.entries()) {
      result.setAttribute("aria-selected", String(i === this.#index));
    }
    this.chosen?.scrollIntoView({ block: "nearest" });
    this.#input.setAttribute("aria-activedescendant", this.chosen?.id ?? "");
  }
}

/** Ctrl+K, or ⌘K on a Mac. With Shift, it is the browser's. When Chrome fills in a form, its event has no key. */
function isSearchShortcut({ key, ctrlKey, metaKey, shiftKey, altKey }) {
  return key?.toLowerCase() === "k" && ctrlKey !== metaKey && !shiftKey && !altKey;
}

function isEntering(element) {
  return element.matches?.("input, textarea, select") ?? false;
}

/** The targets of the search, read from the page. */
function listPlaces() {
  const operations = [...document.querySelectorAll("nav a[data-path]")].map((link) => ({
    id: link.getAttribute("href").slice(1),
    title: link.querySelector("span").textContent,
    detail: link.dataset.path,
    words: textOf(document.querySelectorAll(fieldCode(link.hash))),
  }));
  const guides = [...document.querySelectorAll(".guide h2 a, .guide h3 a, .group > .opening h2 a")].map((link) => ({
    id: link.getAttribute("href").slice(1),
    title: link.textContent,
    detail: link.closest("section").getAttribute("aria-label"),
    words: textUnder(link),
  }));
  const errors = [...document.querySelectorAll(".error")].map((error) => ({
    id: error.id,
    title: error.id,
    detail: `Error ${error.querySelector(".status").textContent}`,
    words: "",
  }));
  return [...operations, ...guides, ...errors];
}

/** The code in the descriptions of an operation's parameters, and the names of all its fields. */
function fieldCode(operation) {
  return `${operation} .field > .about code, ${operation} .field > .name code`;
}

/** The text of a guide from a heading to the next one. The heading of a whole guide is outside its parts. */
function textUnder(heading) {
  const parts = [...heading.closest("section").querySelectorAll(".card, .split, .wide, .opening")];
  const first = parts.findIndex((part) => part.contains(heading));
  const next = parts.findIndex((part, i) => i > first && part.querySelector("h2, h3") !== null);
  return textOf(parts.slice(Math.max(first, 0), next === -1 ? parts.length : next));
}

function textOf(elements) {
  return [...elements].map(({ textContent }) => textContent).join(" ");
}

/**
 * The places that contain every word. Titles that begin with the first word come first, and places that only mention
 * the words come last.
 */
export function search(places, text) {
  const words = text
    .toLowerCase()
    .split(/[\s_]+/)
    .filter(Boolean);
  const areIn = (said) => words.every((word) => said.toLowerCase().includes(word));
  const nameOf = ({ id, title, detail }) => `${title} ${detail} ${otherWords[id] ?? ""}`;
  const rank = (place) => (place.title.toLowerCase().startsWith(words[0] ?? "") ? 0 : areIn(nameOf(place)) ? 1 : 2);
  return places.filter((place) => areIn(`${nameOf(place)} ${place.words}`)).sort((a, b) => rank(a) - rank(b));
}

function createResult({ id, title, detail }, i) {
  const item = document.createElement("li");
  item.id = `found-${i}`;
  item.dataset.id = id;
  item.setAttribute("role", "option");
  const [name, kind] = [document.createElement("span"), document.createElement("small")];
  name.textContent = title;
  kind.textContent = detail;
  item.append(name, kind);
  return item;
}
