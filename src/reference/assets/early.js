// Runs before the first paint, so that neither the colours, nor the language of the samples, nor the space of their copy
// buttons change on the screen.
{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  let chosen = recall("color-scheme");
  const scheme = () => chosen ?? (system.matches ? "dark" : "light");

  // A browser may refuse access to its storage.
  function recall(name) {
    try {
      return localStorage.getItem(name) ?? undefined;
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
    const other = scheme() === "dark" ? "light" : "dark";
    document.querySelector("button.scheme")?.setAttribute("aria-label", `Switch to ${other} colours`);
  }

  function toggle() {
    chosen = scheme() === "dark" ? "light" : "dark";
    remember();
    apply();
  }

  root.classList.add("js");
  root.classList.toggle("copies", navigator.clipboard !== undefined);
  root.dataset.language = recall("language") ?? root.dataset.language;
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelector("button.scheme").addEventListener("click", toggle);
    apply();
  });
}
