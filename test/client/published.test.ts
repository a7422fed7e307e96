import { mkdtempDisposableSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmptyProject, type Installation, packClient } from "../../tools/try-client/empty-project.ts";
import { checkTypes, moduleSettings } from "../../tools/try-client/types.ts";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

const scratch = mkdtempDisposableSync(join(tmpdir(), "petstore-client-"));
const project = new EmptyProject(join(scratch.path, "project"), { node: process.execPath, npm: ["npm"] });
const installed = join(project.folder, "node_modules/petstore-inventory-client");
const typescript = join(projectRoot, "node_modules/typescript");

let server: TestServer;
let variables: Record<string, string>;
let installation: Installation;

beforeAll(async () => {
  server = await startServer();
  const { key } = await server.store.mintKey();
  variables = { PETSTORE_API_KEY: key, BASE_URL: `${server.origin}/v1` };
  // Where the packages are not at hand yet, npm loads them from the registry.
  installation = await project.install(await packClient(scratch.path));
}, 300_000);

afterAll(async () => {
  await server?.stop();
  scratch.remove();
});

/** The files that a type file leads to, and the packages that these import. */
function typesFrom(file: string, found: Set<string> = new Set()): Set<string> {
  if (!found.has(file)) {
    found.add(file);
    const text = readFileSync(join(installed, file), "utf8");
    for (const [, from = ""] of text.matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
      if (from.startsWith(".")) {
        typesFrom(join(dirname(file), from.replace(/\.js$/, ".d.ts")), found);
      } else {
        found.add(from);
      }
    }
  }
  return found;
}

describe("the client's npm package", () => {
  it("has JavaScript with its types, the papers, and no source", () => {
    const names = readdirSync(installed, { recursive: true, encoding: "utf8" });
    expect(names).toEqual(expect.arrayContaining(["LICENSE", "README.md", "index.js", "index.d.ts", "connect.js"]));
    expect(names.filter((name) => /(?<!\.d)\.ts$/.test(name))).toEqual([]);
  });

  it("has a README whose links lead to the web, or to its own sections", () => {
    const text = readFileSync(join(installed, "README.md"), "utf8");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !/^(https?:|#)/.test(link))).toEqual([]);
  });

  it("brings three packages, less than 10 MB, and no command", () => {
    const { packages, apparentBytes, diskBytes, commands } = installation;
    expect(packages).toBe(4);
    expect(Math.max(apparentBytes, diskBytes)).toBeLessThan(10_000_000);
    expect(commands).toEqual([]);
  });

  it("has no script that npm would run", () => {
    expect(JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))).not.toHaveProperty("scripts");
  });

  it("has types of its own alone, since those of its packages need TypeScript 5.7", () => {
    const types = [...typesFrom("index.d.ts")];
    expect(types).toContain("gen/api.d.ts");
    expect(types.filter((name) => !name.endsWith(".d.ts"))).toEqual([]);
  });

  it.each(moduleSettings.map((module) => ({ module })))(
    "has types that a project takes with $module",
    async ({ module }) => {
      await expect(checkTypes(project, typescript, module)).resolves.toBeUndefined();
    },
  );

  it.each(["pets.mjs", "pets.mts"])("runs the example as %s", async (name) => {
    project.copy("examples/connect.ts", name);
    expect(await project.run([name], variables)).toContain("pet 7 now has 5\n");
  });

  it.each(["mirror.mjs", "mirror.mts"])("mirrors the stock as %s", async (name) => {
    project.copy("examples/mirror.ts", name);
    expect(await project.run([name], variables)).toMatch(
      /^13 pets, (\d+) of pet 7\npet 7: \1 → (\d+)\n\2 of pet 7 in the end\n$/,
    );
  });

  it("has the services as protobuf-es describes them", async () => {
    project.write(
      "service.mjs",
      'import { InventoryService } from "petstore-inventory-client/connect";\nconsole.log(InventoryService.typeName);\n',
    );
    expect(await project.run(["service.mjs"])).toBe("petstore.v1.InventoryService\n");
  });
});
