const menu = document.querySelector("button.menu");
const navigation = document.querySelector("nav");

/**
 * Lets a keyboard skip the navigation. Opens and closes the navigation on a phone, and marks in it the chapter that is
 * being read.
 */
export function connectNavigation() {
  // Not every browser moves the focus to where a link leads.
  document.querySelector(".skip").addEventListener("click", () => document.querySelector("main").focus());
  menu.addEventListener("click", () => show(menu.getAttribute("aria-expanded") === "false"));
  navigation.addEventListener("click", ({ target }) => target.closest("a") !== null && show(false));
  addEventListener("keydown", ({ key }) => key === "Escape" && leave());

  const observer = new IntersectionObserver(markRead, { rootMargin: "-15% 0px -80%" });
  for (const section of document.querySelectorAll("main > section")) {
    observer.observe(section);
  }
}

/** The focus goes back to where the navigation was opened, and would be lost with it. */
function leave() {
  if (navigation.classList.contains("open")) {
    show(false);
    menu.focus();
  }
}

function show(isShown) {
  menu.setAttribute("aria-expanded", String(isShown));
  navigation.classList.toggle("open", isShown);
}

function markRead(entries) {
  for (const { target, isIntersecting } of entries) {
    const link = navigation.querySelector(`a[href="#${target.id}"]`);
    if (isIntersecting) {
      link.setAttribute("aria-current", "true");
    } else {
      link.removeAttribute("aria-current");
    }
  }
}
