import { inMemory } from "../../server/config.ts";
import { argument } from "./argument.ts";

const protocols = ["redis:", "rediss:", "valkey:"];

/** The number of a database, as a path: those of a default configuration are 0 to 15. */
const databasePath = /^\/?(\d{1,5})?$/;

/** Reads where limits are counted: `memory:`, or the URL of Valkey or Redis. */
export const parseLimitsUrl = argument((text) => {
  if (text === inMemory) {
    return text;
  }
  return URL.canParse(text) && isServer(new URL(text)) ? text : undefined;
}, `${inMemory}, or redis://HOST:PORT, rediss:// for TLS, or valkey://, with ?cluster for a cluster`);

function isServer({ protocol, hostname, pathname, search, hash, username, password }: URL): boolean {
  const isCluster = search === "?cluster";
  const hasDatabase = databasePath.test(pathname) && !(isCluster && /[1-9]/.test(pathname));
  return (
    protocols.includes(protocol) &&
    hostname !== "" &&
    hasDatabase &&
    (isCluster || search === "") &&
    hash === "" &&
    isDecodable(username + password)
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
