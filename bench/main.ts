/**
 * The service and its peers, side by side: `npm run bench`, and `npm run bench -- --quick` for less than 4 minutes.
 * `--only TEXT` runs the scenarios whose title contains the text, and writes no file.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createContenders } from "./contender.ts";
import { createCity, createShop } from "./data-set.ts";
import { describeMachine, warnOfNoise } from "./machine.ts";
import { measure, type Plan } from "./measure.ts";
import { isInstalled, whatIsMissing } from "./prerequisites.ts";
import { profileService } from "./profile.ts";
import { reportProfiles } from "./profile-report.ts";
import { runProgram } from "./project.ts";
import { reportScenario } from "./report.ts";
import { resultsPage } from "./results-page.ts";
import { createScenarios, profiledLoads } from "./scenarios.ts";

const thorough: Plan = { rounds: 5, roundSeconds: 5, warmUpSeconds: 3, profiledSeconds: 5 };
const quick: Plan = { rounds: 2, roundSeconds: 2, warmUpSeconds: 1, profiledSeconds: 0 };

const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string", default: "" } } });
const missing = whatIsMissing();
if (missing === undefined) {
  await runBench(values.quick === true ? quick : thorough, values.only);
} else {
  console.error(missing);
  process.exitCode = 1;
}

async function runBench(plan: Plan, only: string): Promise<void> {
  const machine = describeMachine();
  const notes = [warnOfNoise(), isInstalled("gcc") ? undefined : "No gcc: the scenario of the slow disk is left out."];
  const remarks = notes.filter((note) => note !== undefined);
  console.log([machine, ...remarks].join("\n\n"));

  const directory = mkdtempSync(join(tmpdir(), "petstore-bench-"));
  // The servers must end with the bench, however it ends.
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => process.exit(1));
  }

  await runProgram("tools/gather-protos.ts", directory);
  const setting = {
    contenders: createContenders(join(directory, ".protos")),
    city: await createCity(directory),
    shop: await createShop(directory),
    directory,
  };
  const reports: string[] = [];
  for (const scenario of createScenarios(setting).filter(({ title }) => title.includes(only))) {
    const report = reportScenario(scenario, await measure(scenario, plan));
    console.log(`\n${report}`);
    reports.push(report);
  }
  if (only === "" && plan.profiledSeconds > 0) {
    const profiles = await profileService(profiledLoads, setting, plan);
    const report = reportProfiles(profiles);
    console.log(`\n${report}`);
    reports.push(report);
  }
  if (only === "") {
    writeFileSync(join(import.meta.dirname, "RESULTS.md"), resultsPage({ plan, machine, remarks, reports }));
  }
}
