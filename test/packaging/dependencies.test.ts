import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import client from "../../client/package.json" with { type: "json" };
import manifest from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { projectRoot } from "../support/petstore.ts";

interface LockedPackage {
  /** A workspace of this repository, which comes from no registry. */
  readonly link?: boolean;
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

/** A package in the output of `npm sbom`, in CycloneDX 1.5. */
interface Component {
  readonly name: string;
  readonly version: string;
  readonly hashes?: readonly { readonly alg: string }[];
  readonly properties?: readonly Property[];
}

interface Property {
  readonly name: string;
  readonly value: string;
}

const locked = Object.entries<Partial<LockedPackage>>(lock.packages)
  .filter((entry): entry is [string, LockedPackage] => entry[0].startsWith("node_modules/") && entry[1].link !== true)
  .map(([path, entry]) => ({
    path,
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    ...entry,
  }));

/** The packages that run in production, on any platform. */
const shipped = locked.filter(({ dev }) => dev !== true);

/** Without packages for other platforms. */
const installed = locked.filter(({ path }) => existsSync(join(projectRoot, path)));

/** Licences that require no more than attribution, as the project's own. */
const compatible = ["Apache-2.0", "(Apache-2.0 AND BSD-3-Clause)", "BSD-3-Clause", "ISC", "MIT"];

describe("the dependencies", () => {
  it("are pinned, each to one version", () => {
    const groups = [
      manifest.dependencies,
      manifest.devDependencies,
      manifest.optionalDependencies,
      client.dependencies,
    ];
    const loose = groups
      .flatMap((group) => Object.entries(group))
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version));
    expect(loose).toEqual([]);
  });

  it("have hashes in the lockfile, except for tools of other platforms", () => {
    const unknown = locked.filter(({ integrity }) => integrity?.startsWith("sha512-") !== true);
    expect(unknown.filter(({ dev, optional }) => !(dev === true && optional === true))).toEqual([]);
  });

  it("have licences that go with the project's", () => {
    const others = shipped.filter(({ license }) => !compatible.includes(license ?? "none"));
    expect(others.map(({ name, license }) => `${name}: ${license}`)).toEqual([]);
  });

  it("are as many as SECURITY.md says", () => {
    const text = readFileSync(join(projectRoot, "SECURITY.md"), "utf8").replaceAll(/\s+/g, " ");
    const [, direct, all] = /has (\d+) direct dependencies and (\d+) packages in all/.exec(text) ?? [];
    expect([Number(direct), Number(all)]).toEqual([Object.keys(manifest.dependencies).length, shipped.length]);
  });
});

describe("the bill of materials", () => {
  let components: readonly Component[];

  beforeAll(async () => {
    const { stdout } = await promisify(execFile)("npm", ["run", "--silent", "sbom"], { cwd: projectRoot });
    ({ components } = JSON.parse(stdout));
  });

  it("lists all installed packages with hashes, and marks those for development", () => {
    const named = new Set(components.map(inWords));
    expect(installed.map(inWords).filter((each) => !named.has(each))).toEqual([]);
    const known = new Set(shipped.map(inWords));
    const production = components.filter(({ properties }) => !properties?.some(isDevelopment));
    expect(production.map(inWords).filter((each) => !known.has(each))).toEqual([]);
    expect(production.filter(({ hashes }) => hashes?.[0]?.alg !== "SHA-512")).toEqual([]);
    expect(production.length).toBeLessThan(components.length);
  });
});

function inWords({ name, version }: Pick<Component, "name" | "version">): string {
  return `${name}@${version}`;
}

function isDevelopment({ name, value }: Property): boolean {
  return name === "cdx:npm:package:development" && value === "true";
}
