// Counts the results in Vitest's JSON reports of a run, and of its repetition: bin/node tools/test-results.ts REPORT…
//
// A file's last report counts. Prints `passed failed`, and a line for each test that failed: a tab, then its file and
// name. A file that does not load counts as a failed test. Without any file, as after a run that was killed, it fails.

import { readFileSync } from "node:fs";
import { relative } from "node:path";

interface Report {
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly status: "passed" | "failed";
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

const files = new Map<string, FileResult>();
for (const path of process.argv.slice(2)) {
  for (const file of (JSON.parse(readFileSync(path, "utf8")) as Report).testResults) {
    files.set(relative(process.cwd(), file.name), file);
  }
}
if (files.size === 0) {
  throw new Error("the reports have no results");
}

let passed = 0;
const failures: string[] = [];
for (const [path, { status, assertionResults }] of files) {
  passed += assertionResults.filter((test) => test.status === "passed").length;
  const failed = assertionResults.filter((test) => test.status === "failed");
  failures.push(...failed.map((test) => `\t${path}\t${test.fullName}`));
  if (status === "failed" && failed.length === 0) {
    failures.push(`\t${path}\tdoes not load, or fails outside of its tests`);
  }
}
console.log([`${passed} ${failures.length}`, ...failures].join("\n"));
