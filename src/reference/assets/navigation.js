const menu = document.querySelector("button.menu");
const navigation = document.querySelector("nav");
const main = document.querySelector("main");
const { title } = document;

/** The link that the reader has clicked, until the reader moves on; undefined for none. */
let clicked;

/**
 * Lets the keyboard skip the navigation, opens and closes it on a phone, and marks the section in view.
 */
export function connectNavigation() {
  // Not every browser moves the focus to the target of a link.
  document.querySelector(".skip").addEventListener("click", () => {
    show(false);
    main.focus();
  });
  menu.addEventListener("click", () => (isOpen() ? show(false) : enter()));
  navigation.addEventListener("click", ({ target }) => target.closest("a") !== null && show(false));
  for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(type, forgetClicked, { passive: true });
  }
  addEventListener("keydown", ({ key }) => key === "Escape" && leave());
  // The page behind the navigation takes no clicks: see layout.css.
  document.addEventListener("click", ({ target }) => target.closest("nav, button.menu") ?? show(false));
  // The keyboard has left it for what it covers.
  navigation.addEventListener("focusout", ({ relatedTarget }) => relatedTarget?.closest("main") && show(false));
  // On a wide screen the navigation is beside the page.
  matchMedia("(min-width: 60rem)").addEventListener("change", () => show(false));
  markSectionInView();
}

function isOpen() {
  return menu.getAttribute("aria-expanded") === "true";
}

function enter() {
  show(true);
  const current = navigation.querySelector("a[aria-current]") ?? navigation.querySelector("a");
  current.focus();
}

/** The focus would be lost with the navigation, so it goes back to the button. */
function leave() {
  if (isOpen()) {
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
      // A group and its first operation are both near the top after a click on the group.
      if (read !== undefined && (clicked === undefined || clicked.hash !== location.hash)) {
        mark(links, [...links.keys()][targets.indexOf(read)]);
      }
    },
    { rootMargin: "-15% 0px -80%" },
  );
  navigation.addEventListener("click", ({ target }) => {
    clicked = target.closest('a[href^="#"]') ?? undefined;
    if (clicked !== undefined) {
      // Afterwards, as the title is that of the entry in the history that the click adds.
      setTimeout(mark, 0, links, clicked.hash.slice(1));
    }
  });
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
      // The entries of the browser's history are told apart by it.
      document.title = `${(link.querySelector("span") ?? link).textContent} · ${title}`;
      keepInSight(link);
    }
  }
}

function forgetClicked() {
  clicked = undefined;
}

/** Scrolls only the navigation. `scrollIntoView` would scroll the page too. */
function keepInSight(link) {
  const { top, bottom } = link.getBoundingClientRect();
  const frame = navigation.getBoundingClientRect();
  if (top < frame.top || bottom > frame.bottom) {
    navigation.scrollTop += top - frame.top - frame.height / 2;
  }
}
