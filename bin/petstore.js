#!/usr/bin/env -S node --min-semi-space-size=32 --max-semi-space-size=32
// A checkout runs its source as it is. The package has JavaScript instead: Node strips no types under node_modules.
import { existsSync } from "node:fs";

const source = new URL("../src/main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../dist/src/main.js", import.meta.url).href);
