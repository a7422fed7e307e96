#!/usr/bin/env -S node --min-semi-space-size=32 --max-semi-space-size=32
// A checkout runs its source as it is. The package has JavaScript instead: Node strips no types under node_modules.
import { existsSync } from "node:fs";

if (Number.parseInt(process.versions.node, 10) < 26) {
  console.error(`petstore: this is Node ${process.versions.node}; it needs 26 or newer, which npx petstore finds`);
  process.exit(1);
}

const source = new URL("../src/main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../dist/src/main.js", import.meta.url).href);
