const menu = document.querySelector("button.menu");
const navigation = document.querySelector("nav");
const main = document.querySelector("main");

/**
 * Lets a keyboard skip the navigation. Opens and closes the navigation on a phone, and marks in it what is being read.
 */
export function connectNavigation() {
  // Not every browser moves the focus to where a link leads.
  document.querySelector(".skip").addEventListener("click", () => main.focus());
  menu.addEventListener("click", () => show(menu.getAttribute("aria-expanded") === "false"));
  navigation.addEventListener("click", ({ target }) => target.closest("a") !== null && show(false));
  addEventListener("keydown", ({ key }) => key === "Escape" && leave());
  main.addEventListener("click", () => show(false));
  markWhatIsRead();
}

/** The focus goes back to where the navigation was opened, and would be lost with it. */
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

/** Of what is near the top of the screen, the last one is read: it may stand within another. */
function markWhatIsRead() {
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

/** A heading stands for what is under it. */
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

/** Scrolls the navigation alone: `scrollIntoView` would scroll the page with it. */
function keepInSight(link) {
  const { top, bottom } = link.getBoundingClientRect();
  const frame = navigation.getBoundingClientRect();
  if (top < frame.top || bottom > frame.bottom) {
    navigation.scrollTop += top - frame.top - frame.height / 2;
  }
}
