// Runs before the page is painted, so that it does not flash in the other scheme.
{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const chosen = () => localStorage.getItem("color-scheme");
  const scheme = () => chosen() ?? (system.matches ? "dark" : "light");

  function apply() {
    root.dataset.scheme = scheme();
    const button = document.querySelector("button.scheme");
    if (button !== null) {
      button.textContent = scheme() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
    }
  }

  function toggle() {
    localStorage.setItem("color-scheme", scheme() === "dark" ? "light" : "dark");
    apply();
  }

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("button.scheme").addEventListener("click", toggle);
    apply();
  });
}
