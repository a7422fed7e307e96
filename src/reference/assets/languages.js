import { createMemory } from "./memory.js";

const memory = createMemory("localStorage");
const root = document.documentElement;

/**
 * Shows all samples in the language that the reader selected last. The style sheet hides the others by the page's
 * `data-language`.
 *
 * Source: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 */
export function connectLanguages() {
  const known = [...document.querySelectorAll("[role=tab]")].some(
    ({ dataset }) => dataset.language === root.dataset.language,
  );
  show(known ? root.dataset.language : "curl");
  document.addEventListener("click", ({ target }) => {
    const tab = target.closest("[role=tab]");
    if (tab !== null) {
      choose(tab);
    }
  });
  document.addEventListener("keydown", moveFocus);
}

function show(language) {
  root.dataset.language = language;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isShown = tab.dataset.language === language;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
  }
}

/** Samples above may change their height, so the page scrolls to keep the selected tab in place. */
function choose(tab) {
  const { top } = tab.getBoundingClientRect();
  show(tab.dataset.language);
  memory.remember("language", tab.dataset.language);
  scrollBy({ top: tab.getBoundingClientRect().top - top, behavior: "instant" });
}

function moveFocus(event) {
  const tab = event.target.closest?.("[role=tab]") ?? null;
  // With a modifier, a key is the browser's.
  if (tab === null || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
    return;
  }
  const tabs = [...tab.parentElement.children];
  const next = nextTab(tabs, tabs.indexOf(tab), event.key);
  if (next !== undefined) {
    event.preventDefault();
    choose(next);
    next.focus();
  }
}

function nextTab(tabs, index, key) {
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
