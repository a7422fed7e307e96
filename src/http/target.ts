/** The parts of a request target. Nothing is decoded or normalised. */
export interface Target {
  readonly path: string;
  /** Without `?`; empty when there is none. */
  readonly query: string;
  /** The authority of a target in absolute form. It overrides the `Host` header. */
  readonly authority: string | undefined;
}

/**
 * Parses a request target: `/path?query`, `http://authority/path?query`, or `*`.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function parseTarget(target: string): Target {
  const absolute = target.startsWith("/") ? null : /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  const origin = absolute === null ? target : (absolute[2] as string);
  const mark = origin.indexOf("?");
  const path = mark < 0 ? origin : origin.slice(0, mark);
  return {
    path: path === "" ? "/" : path,
    query: mark < 0 ? "" : origin.slice(mark + 1),
    authority: absolute?.[1],
  };
}
