import type { ServerProcess } from "./server-process.ts";

/** Throws unless all servers answer a `GET` with the same JSON: contenders with different data cannot be compared. */
export async function assertSameAnswer(servers: readonly ServerProcess[], path: string, key: string): Promise<void> {
  const texts = await Promise.all(servers.map(({ origin }) => read(`${origin}${path}`, key)));
  const other = texts.findIndex((text) => text !== texts[0]);
  if (other !== -1) {
    throw new Error(`${path}: contender ${other + 1} answers other JSON than the first one`);
  }
}

async function read(url: string, key: string): Promise<string> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  return response.text();
}
