/** Imports a script of the page, which has no types. */
export function importPageScript(name: string): Promise<unknown> {
  return import(new URL(`../../src/reference/assets/${name}.js`, import.meta.url).href);
}
