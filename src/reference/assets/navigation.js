const menu = document.querySelector("button.menu");
const navigation = document.querySelector("nav");
const main = document.querySelector("main");

/**
 * Lets the keyboard skip the navigation, opens and closes it on a phone, and marks the section in view.
 */
export function connectNavigation() {
  // Not every browser moves the focus to the target of a link.
  document.querySelector(".skip").addEventListener("click", () => main.focus());
  menu.addEventListener("click", () => show(menu.getAttribute("aria-expanded") === "false"));
  navigation.addEventListener("click", ({ target }) => target.closest("a") !== null && show(false));
  addEventListener("keydown", ({ key }) => key === "Escape" && leave());
  main.addEventListener("click", () => show(false));
  markSectionInView();
}

/** The focus would be lost with the navigation, so it goes back to the button. */
function leave() {
  if (menu.getAttribute("aria-expanded") === "true") {
    show(false);
    menu.focus();
  }
}

function show(isShown) {
  menu.setAttribute("aria-expanded", String(isShown));
  navigation.classList.toggle("open", isShown);
}

/** The section in view is the last one near the top of the screen, because sections can be nested. */
function markSectionInView() {
  const links = new Map(
    [...navigation.querySelectorAll('a[href^="#"]')].map((link) => [link.getAttribute("href").slice(1), link]),
  );
  const targets = [...links.keys()].map((id) => sectionOf(document.getElementById(id)));
  const near = new Set();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        near[isIntersecting ? "add" : "delete"](target);
      }
      const read = targets.findLast((target) => near.has(target));
      if (read !== undefined) {
        mark(links, [...links.keys()][targets.indexOf(read)]);
      }
    },
    { rootMargin: "-15% 0px -80%" },
  );
  for (const target of targets) {
    observer.observe(target);
  }
}

/** The section under a heading. */
function sectionOf(element) {
  return /^H\d$/.test(element.tagName) ? element.closest(".split, .card, .wide") : element;
}

function mark(links, read) {
  for (const [id, link] of links) {
    if (id !== read) {
      link.removeAttribute("aria-current");
    } else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      keepInSight(link);
    }
  }
}

/** Scrolls only the navigation. `scrollIntoView` would scroll the page too. */
function keepInSight(link) {
  const { top, bottom } = link.getBoundingClientRect();
  const frame = navigation.getBoundingClientRect();
  if (top < frame.top || bottom > frame.bottom) {
    navigation.scrollTop += top - frame.top - frame.height / 2;
  }
}
