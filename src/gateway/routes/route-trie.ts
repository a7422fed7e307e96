import type { PathTemplate } from "./http-rule.ts";

/** What a path and a method lead to. */
export interface RouteMatch<T> {
  readonly route: T | undefined;
  /** The segments of the path, without the verb. */
  readonly segments: readonly string[];
  /** The routes of the path by method, if `route` is undefined; undefined for an unknown path. */
  readonly methods: ReadonlyMap<string, T> | undefined;
}

/** The routes of one pattern and verb, by HTTP method. `*` stands for any method. */
type Routes<T> = Map<string, T>;

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  /** The child for `*`. */
  any: Node<T> | undefined;
  /** The routes that end in `**` here, by verb. */
  readonly rest: Map<string, Routes<T>>;
  /** The routes that end here, by verb; the empty verb for none. */
  readonly here: Map<string, Routes<T>>;
}

const noMatch = { route: undefined, segments: [], methods: undefined };

interface Search<T> {
  readonly method: string;
  readonly verb: string;
  readonly segments: readonly string[];
  /** The routes that match the path, but not the requested method, by method; undefined until there is one. */
  methods: Map<string, T> | undefined;
}

/**
 * The routes by path, verb and method. A match tries a literal before `*`, and `*` before `**`. It tries a verb before
 * a segment with a colon, whatever the method. If a pattern lacks the method, it takes a less specific pattern that has
 * it.
 *
 * Paths are compared as sent, without decoding. A path with an empty segment, such as one that ends in a slash, matches
 * nothing. Nor does one where the segment before a verb is empty.
 */
export class RouteTrie<T> {
  readonly #root: Node<T> = createNode();

  /** Adds a route, unless there is one with the same pattern, verb and method: then it returns that one. */
  add(method: string, template: PathTemplate, route: T): T | undefined {
    let node = this.#root;
    let verbs = node.here;
    for (const segment of template.segments) {
      if (segment.kind === "rest") {
        verbs = node.rest;
      } else {
        node = segment.kind === "any" ? anyChild(node) : literalChild(node, segment.text);
        verbs = node.here;
      }
    }
    const routes = entry(verbs, template.verb, () => new Map<string, T>());
    const present = routes.get(method);
    if (present === undefined) {
      routes.set(method, route);
    }
    return present;
  }

  /** Finds the route for a method and a path. HEAD takes the route of GET, unless it has one of its own. */
  match(method: string, path: string): RouteMatch<T> {
    const segments = splitPath(path);
    if (segments === undefined) {
      return noMatch;
    }
    const withVerb = path.includes(":") ? splitVerb(segments) : undefined;
    if (withVerb !== undefined) {
      const search: Search<T> = { method, ...withVerb, methods: undefined };
      const route = find(search, this.#root, 0);
      // If a route with this verb matches the path, the colon is not tried as a part of the segment. So a method that
      // the verb lacks is refused.
      if (route !== undefined || search.methods !== undefined) {
        const isEmpty = search.segments.at(-1) === "";
        return isEmpty ? noMatch : { route, segments: search.segments, methods: search.methods };
      }
    }
    const search: Search<T> = { method, verb: "", segments, methods: undefined };
    const route = find(search, this.#root, 0);
    return { route, segments, methods: search.methods };
  }
}

function find<T>(search: Search<T>, node: Node<T>, depth: number): T | undefined {
  const segment = search.segments[depth];
  if (segment === undefined) {
    return pick(search, node.here) ?? pick(search, node.rest);
  }
  const child = node.literals.get(segment);
  return (
    (child && find(search, child, depth + 1)) ??
    (node.any && find(search, node.any, depth + 1)) ??
    pick(search, node.rest)
  );
}

function pick<T>(search: Search<T>, verbs: Map<string, Routes<T>>): T | undefined {
  const routes = verbs.get(search.verb);
  if (routes === undefined) {
    return undefined;
  }
  const route = routes.get(search.method) ?? (search.method === "HEAD" ? routes.get("GET") : undefined);
  if (route === undefined && !routes.has("*")) {
    // What was found before is more specific.
    search.methods = new Map([...routes, ...(search.methods ?? [])]);
  }
  return route ?? routes.get("*");
}

function splitPath(path: string): readonly string[] | undefined {
  if (path === "/") {
    return [];
  }
  if (!path.startsWith("/")) {
    return undefined;
  }
  const segments = path.slice(1).split("/");
  return segments.includes("") ? undefined : segments;
}

/** Splits the verb off the last segment: the text after its last colon. Undefined if there is no verb. */
function splitVerb(segments: readonly string[]) {
  const last = segments.at(-1) ?? "";
  const colon = last.lastIndexOf(":");
  return colon < 0 || colon === last.length - 1
    ? undefined
    : { verb: last.slice(colon + 1), segments: [...segments.slice(0, -1), last.slice(0, colon)] };
}

function createNode<T>(): Node<T> {
  return { literals: new Map(), any: undefined, rest: new Map(), here: new Map() };
}

function anyChild<T>(node: Node<T>): Node<T> {
  node.any ??= createNode();
  return node.any;
}

function literalChild<T>(node: Node<T>, text: string): Node<T> {
  return entry(node.literals, text, () => createNode<T>());
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const present = map.get(key);
  if (present !== undefined) {
    return present;
  }
  const created = create();
  map.set(key, created);
  return created;
}
