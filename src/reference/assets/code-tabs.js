import { createMemory } from "./memory.js";

const choices = createMemory("localStorage");
let count = 0;

/**
 * `<code-tabs>` makes tabs of its sections, which their `data-label` names. Whoever chooses a tab has it wherever there
 * are the same ones, such as the languages, and next time.
 *
 * Source: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 */
class CodeTabs extends HTMLElement {
  #choice;

  connectedCallback() {
    if (this.querySelector("[role=tablist]") === null) {
      this.#choice = `tab of ${[...this.children].map(({ dataset }) => dataset.label).join(", ")}`;
      this.prepend(makeTabList(this));
      this.addEventListener("click", ({ target }) => target.matches("[role=tab]") && this.#choose(target));
      this.addEventListener("keydown", (event) => this.#moveFocus(event));
    }
    document.addEventListener("tab", this);
    this.handleEvent();
  }

  disconnectedCallback() {
    document.removeEventListener("tab", this);
  }

  handleEvent() {
    const tabs = [...this.querySelectorAll("[role=tab]")];
    const chosen = tabs.find(({ textContent }) => textContent === choices.recall(this.#choice)) ?? tabs[0];
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      this.querySelector(`#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
    }
  }

  #choose(tab) {
    choices.remember(this.#choice, tab.textContent);
    document.dispatchEvent(new Event("tab"));
  }

  #moveFocus(event) {
    const { key, target } = event;
    const tabs = [...this.querySelectorAll("[role=tab]")];
    const next = nextTab(tabs, tabs.indexOf(target), key);
    if (next !== undefined) {
      event.preventDefault();
      this.#choose(next);
      next.focus();
    }
  }
}

function makeTabList(tabs) {
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", tabs.getAttribute("aria-label"));
  tabs.removeAttribute("aria-label");
  list.append(...[...tabs.children].map(makeTab));
  return list;
}

function makeTab(panel) {
  const tab = document.createElement("button");
  tab.type = "button";
  tab.setAttribute("role", "tab");
  tab.textContent = panel.dataset.label;
  count += 1;
  tab.id = `tab-${count}`;
  panel.id = `panel-${count}`;
  panel.setAttribute("role", "tabpanel");
  tab.setAttribute("aria-controls", panel.id);
  panel.setAttribute("aria-labelledby", tab.id);
  return tab;
}

function nextTab(tabs, index, key) {
  if (index === -1) {
    return undefined;
  }
  switch (key) {
    case "ArrowRight":
      return tabs[(index + 1) % tabs.length];
    case "ArrowLeft":
      return tabs.at(index - 1);
    case "Home":
      return tabs[0];
    case "End":
      return tabs.at(-1);
    default:
      return undefined;
  }
}

customElements.define("code-tabs", CodeTabs);
