#!/usr/bin/env -S node --min-semi-space-size=32 --max-semi-space-size=32
import { run } from "./cli/program.ts";

process.exitCode = await run(process.argv.slice(2));
