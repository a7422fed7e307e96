import type { Kind } from "./value-type.ts";

/** One thing that the service can be told, by a flag, a variable or the configuration file. */
export interface Setting<V> {
  readonly kind: Kind<Exclude<V, undefined>>;
  /** What it decides, for help and for docs/operations.md. */
  readonly description: string;
  readonly byDefault: V;
  /** Whether nobody is to read it over the operator's shoulder. */
  readonly isSecret: boolean;
}

/** A setting that has a value even if nobody gives one: `byDefault`, written as on the command line. */
export function required<V>(kind: Kind<Exclude<V, undefined>>, description: string, byDefault: string): Setting<V> {
  return { kind, description, byDefault: kind.parse(byDefault, undefined), isSecret: false };
}

/** A setting that may be absent. */
export function optional<V>(kind: Kind<Exclude<V, undefined>>, description: string): Setting<V | undefined> {
  return { kind: kind as Setting<V | undefined>["kind"], description, byDefault: undefined, isSecret: false };
}

/** A setting of which there may be several values. */
export function several<V>(kind: Kind<readonly V[]>, description: string): Setting<readonly V[]> {
  return { kind, description: `${description}; may be repeated`, byDefault: [], isSecret: false };
}

/** A setting that is off unless it is switched on. */
export function toggle(kind: Kind<boolean>, description: string): Setting<boolean> {
  return { kind, description, byDefault: false, isSecret: false };
}

/** The same setting, whose value is not to be shown. */
export function secret<V>(setting: Setting<V>): Setting<V> {
  return { ...setting, isSecret: true };
}
