import type { Random } from "../../support/random.ts";

/** What mutations take from elsewhere. */
export interface Material {
  /** What means something in such texts. */
  readonly tokens: readonly string[];
  /** Texts that are valid. */
  readonly corpus: readonly string[];
  /** The longest text that is made, in characters; 65,536 by default. */
  readonly maxLength?: number;
}

/** How long the headers of a request may be, its target included: no one of them is longer. */
export const maxHeaderLength = 16_384;

/** A valid text, or one that has been made nearly valid by one to four mutations. */
export function mutated(random: Random, material: Material): string {
  return mutate(random, random.pick(material.corpus), material);
}

/** As `mutated`, of texts whose characters are bytes. */
export function mutatedBytes(random: Random, material: Material): Buffer {
  return Buffer.from(mutated(random, material), "latin1");
}

/** A text after none to four mutations. */
export function mutate(random: Random, text: string, material: Material): string {
  let result = text;
  for (let count = random.below(5); count > 0; count--) {
    result = random.pick(mutators)(result, random, material);
  }
  // Texts of the largest size are rare: they cost as much as thousands of others.
  const { maxLength = 65_536 } = material;
  return random.oneIn(1_000) ? swell(result, random, maxLength) : result.slice(0, maxLength);
}

type Mutator = (text: string, random: Random, material: Material) => string;

const mutators: readonly Mutator[] = [
  flipBit,
  flipBit,
  insertToken,
  insertToken,
  overwriteWithToken,
  cut,
  truncate,
  duplicate,
  splice,
];

function flipBit(text: string, random: Random): string {
  if (text === "") {
    return text;
  }
  const at = random.below(text.length);
  return replace(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(8))));
}

function insertToken(text: string, random: Random, { tokens }: Material): string {
  return replace(text, random.below(text.length + 1), 0, random.pick(tokens));
}

function overwriteWithToken(text: string, random: Random, { tokens }: Material): string {
  const token = random.pick(tokens);
  return replace(text, random.below(text.length + 1), random.pick([1, token.length]), token);
}

function cut(text: string, random: Random): string {
  return replace(text, random.below(text.length), 1 + random.below(8), "");
}

function truncate(text: string, random: Random): string {
  return text.slice(0, random.below(text.length + 1));
}

function duplicate(text: string, random: Random): string {
  const at = random.below(text.length);
  return replace(text, at, 0, text.slice(at, at + 1 + random.below(random.pick([4, text.length]))));
}

/** The beginning of one text, and the end of another. */
function splice(text: string, random: Random, { corpus }: Material): string {
  const other = random.pick(corpus);
  return text.slice(0, random.below(text.length + 1)) + other.slice(random.below(other.length + 1));
}

/** Repeats a part until the text is as long as may be: what takes time by the square of a length is seen then. */
function swell(text: string, random: Random, maxLength: number): string {
  const at = random.below(text.length);
  const part = text.slice(at, at + 1 + random.below(random.pick([1, 4, 16]))) || " ";
  const room = Math.max(0, maxLength - text.length);
  return replace(text, at, 0, part.repeat(Math.floor(room / part.length))).slice(0, maxLength);
}

function replace(text: string, at: number, length: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + length);
}
