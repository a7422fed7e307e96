/** The service and its peers, side by side. What it does and how it is called: `bench/README.md`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCertificate } from "../test/support/certificate.ts";
import { buildCompiledPeers, type CompiledPeers } from "./build/compiled-peers.ts";
import { type Command, helpText, parseCommand } from "./command.ts";
import { createContenders } from "./contender.ts";
import { createCity, createShop } from "./data-set.ts";
import { Databases } from "./databases.ts";
import { measure } from "./measure.ts";
import { describeSkipped, missingPrerequisite } from "./prerequisites.ts";
import { profileService } from "./profile.ts";
import { runProgram } from "./project.ts";
import { describeMachine, warnOfNoise } from "./report/machine.ts";
import { reportProfiles } from "./report/profile-report.ts";
import { resultsPage } from "./report/results-page.ts";
import { reportScenario } from "./report/scenario-report.ts";
import { type JudgedScenario, reportTargets } from "./report/targets-report.ts";
import { judge } from "./report/verdict.ts";
import { makeRunFolder } from "./run-folder.ts";
import { createScenarios, profiledLoads } from "./scenarios/all.ts";
import type { Setting } from "./scenarios/setting.ts";

const command = parseCommand(process.argv.slice(2));
const missing = missingPrerequisite();
if (command === "help") {
  console.log(helpText);
} else if (missing === undefined) {
  await runBench(command);
} else {
  console.error(missing);
  process.exitCode = 1;
}

async function runBench({ plan, only, isPublished }: Command): Promise<void> {
  const machine = describeMachine();
  const noise = warnOfNoise();
  const { compiled, remarks: unbuilt } = await buildCompiledPeers();
  const remarks = [...(noise === undefined ? [] : [noise]), ...describeSkipped(), ...unbuilt];
  console.log([machine, ...remarks].join("\n\n"));

  await using databases = new Databases();
  const setting = await createSetting(compiled, databases);
  const reports: string[] = [];
  const publish = (report: string) => {
    console.log(`\n${report}`);
    reports.push(report);
  };
  const judged: JudgedScenario[] = [];
  for (const scenario of createScenarios(setting).filter(({ title }) => title.includes(only))) {
    const results = await measure(scenario, plan);
    publish(reportScenario(scenario, results));
    judged.push({ title: scenario.title, verdicts: judge(scenario.targets, results) });
  }
  publish(reportTargets(judged));
  if (only === "" && plan.profiledSeconds > 0) {
    publish(reportProfiles(await profileService(profiledLoads, setting, plan)));
  }
  if (isPublished) {
    writeFileSync(join(import.meta.dirname, "RESULTS.md"), resultsPage({ plan, machine, remarks, reports }));
  }
}

async function createSetting(compiled: CompiledPeers, databases: Databases): Promise<Setting> {
  const directory = makeRunFolder();
  await runProgram("tools/gather-protos.ts", directory);
  const parts = {
    protos: join(directory, ".protos"),
    certificate: createCertificate(directory),
    compiled,
    databases,
  };
  return {
    contenders: createContenders(parts),
    city: await createCity(directory),
    shop: await createShop(directory),
    directory,
  };
}
