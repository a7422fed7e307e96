import { readdirSync, readFileSync } from "node:fs";

/** The folders of the reference, relative to this file. The build keeps their relative places. */
const folders = {
  assets: new URL("assets/", import.meta.url),
  chapters: new URL("chapters/", import.meta.url),
  generated: new URL("../../gen/", import.meta.url),
};

export type ReferenceFolder = keyof typeof folders;

/** Reads a file of a folder. `name` is its path within the folder. */
export function readReferenceFile(folder: ReferenceFolder, name: string): Buffer {
  return readFileSync(new URL(name, folders[folder]));
}

/** Reads all files of a folder and its subfolders, by their paths within it, such as `samples/curl.js`. */
export function readReferenceFiles(folder: ReferenceFolder): ReadonlyMap<string, Buffer> {
  const names = readdirSync(folders[folder], { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.\w+$/.test(name));
  return new Map(names.sort().map((name) => [name, readReferenceFile(folder, name)]));
}
