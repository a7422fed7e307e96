/**
 * What the page remembers by name: in `sessionStorage`, for a tab, or in `localStorage`. Where the browser refuses that,
 * it is forgotten when the page is left.
 */
export function createMemory(storage) {
  const known = new Map();
  return {
    recall: (name) => known.get(name) ?? attempt(() => globalThis[storage].getItem(name)) ?? undefined,
    remember(name, value) {
      known.set(name, value);
      attempt(() => globalThis[storage].setItem(name, value));
    },
    forget(name) {
      known.delete(name);
      attempt(() => globalThis[storage].removeItem(name));
    },
  };
}

function attempt(use) {
  try {
    return use();
  } catch {
    return undefined;
  }
}
