// Runs before the page is painted, so that it does not flash in the other scheme.
{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  let chosen = recall();
  const scheme = () => chosen ?? (system.matches ? "dark" : "light");

  // A browser may refuse to keep anything.
  function recall() {
    try {
      return localStorage.getItem("color-scheme") ?? undefined;
    } catch {
      return undefined;
    }
  }

  function remember() {
    try {
      localStorage.setItem("color-scheme", chosen);
    } catch {}
  }

  function apply() {
    root.dataset.scheme = scheme();
    const button = document.querySelector("button.scheme");
    if (button !== null) {
      button.textContent = scheme() === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
    }
  }

  function toggle() {
    chosen = scheme() === "dark" ? "light" : "dark";
    remember();
    apply();
  }

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("button.scheme").addEventListener("click", toggle);
    apply();
  });
}
