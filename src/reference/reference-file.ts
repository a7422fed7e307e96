import { readdirSync, readFileSync } from "node:fs";

/** The folders of the files that the reference is made of, from this file. A bundle has them elsewhere. */
const folders = {
  assets: new URL("assets/", import.meta.url),
  chapters: new URL("chapters/", import.meta.url),
  generated: new URL("../../gen/", import.meta.url),
};

export type ReferenceFolder = keyof typeof folders;

/** A file of a folder, by its path within it. */
export function readReferenceFile(folder: ReferenceFolder, name: string): Buffer {
  return readFileSync(new URL(name, folders[folder]));
}

/** All files of a folder, those in its folders included, by their paths within it: `samples/curl.js`, say. */
export function readReferenceFiles(folder: ReferenceFolder): ReadonlyMap<string, Buffer> {
  const names = readdirSync(folders[folder], { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name));
  return new Map(names.sort().map((name) => [name, readReferenceFile(folder, name)]));
}
