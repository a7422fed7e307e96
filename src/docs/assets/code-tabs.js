let count = 0;

/**
 * `<code-tabs>` makes tabs of its sections, which their `data-label` names. Whoever chooses a language has it
 * everywhere, and next time.
 *
 * Source: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 */
class CodeTabs extends HTMLElement {
  connectedCallback() {
    if (this.querySelector("[role=tablist]") !== null) {
      return;
    }
    const list = document.createElement("div");
    list.setAttribute("role", "tablist");
    list.setAttribute("aria-label", this.getAttribute("aria-label"));
    this.removeAttribute("aria-label");
    list.append(...[...this.children].map(makeTab));
    this.prepend(list);
    list.addEventListener("click", ({ target }) => target.role === "tab" && choose(target.textContent));
    list.addEventListener("keydown", moveFocus);
    document.addEventListener("language", this);
    this.handleEvent();
  }

  disconnectedCallback() {
    document.removeEventListener("language", this);
  }

  handleEvent() {
    const tabs = [...this.querySelectorAll("[role=tab]")];
    const chosen = tabs.find(({ textContent }) => textContent === localStorage.getItem("language")) ?? tabs[0];
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      this.querySelector(`#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
    }
  }
}

function makeTab(panel) {
  const tab = document.createElement("button");
  tab.type = "button";
  tab.role = "tab";
  tab.textContent = panel.dataset.label;
  count += 1;
  tab.id = `tab-${count}`;
  panel.id = `panel-${count}`;
  panel.role = "tabpanel";
  tab.setAttribute("aria-controls", panel.id);
  panel.setAttribute("aria-labelledby", tab.id);
  return tab;
}

function choose(language) {
  localStorage.setItem("language", language);
  document.dispatchEvent(new Event("language"));
}

const steps = { ArrowRight: 1, ArrowLeft: -1 };

function moveFocus({ key, target }) {
  if (key in steps) {
    const tabs = [...target.parentElement.children];
    const next = tabs.at((tabs.indexOf(target) + steps[key]) % tabs.length);
    choose(next.textContent);
    next.focus();
  }
}

customElements.define("code-tabs", CodeTabs);
