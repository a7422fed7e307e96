import { parsePreferences } from "./quality.ts";

/** The content codings that answers can have, the best first. */
export const contentCodings = ["br", "gzip"] as const;

export type ContentCoding = (typeof contentCodings)[number];

/**
 * The content coding that a request asks for: the one of the highest quality, of equals the best. Undefined for none,
 * which is also what those get who ask for nothing, or refuse all that there is.
 *
 * Source: RFC 9110, 12.5.3
 */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined || acceptEncoding === "") {
    return undefined;
  }
  const qualities = new Map(parsePreferences(acceptEncoding).map(({ name, quality }) => [name, quality]));
  const others = qualities.get("*") ?? 0;
  // What is not named is still taken as it is, but gladly only where nothing else is.
  let best = qualities.get("identity") ?? 0;
  let chosen: ContentCoding | undefined;
  for (const coding of contentCodings) {
    const quality = qualities.get(coding) ?? qualities.get(`x-${coding}`) ?? others;
    if (quality > best || (quality === best && quality > 0 && chosen === undefined)) {
      best = quality;
      chosen = coding;
    }
  }
  return chosen;
}
