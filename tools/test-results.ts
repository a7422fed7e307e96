// Counts the results in Vitest's JSON reports of a run, and of its repetition: bin/node tools/test-results.ts REPORT…
//
// A file's last report counts. Prints `passed failed`, and a line for each test that failed: a tab, then its file and
// name. A file that does not load counts as a failed test.

import { existsSync, readFileSync } from "node:fs";
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
  // A run that was killed has no report.
  const report = existsSync(path) ? readFileSync(path, "utf8") : "";
  for (const file of report === "" ? [] : (JSON.parse(report) as Report).testResults) {
    files.set(relative(process.cwd(), file.name), file);
  }
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
