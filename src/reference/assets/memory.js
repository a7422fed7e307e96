/**
 * Keeps values by name in `sessionStorage` or `localStorage`. If the browser refuses access, they are lost when the
 * reader leaves the page.
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
