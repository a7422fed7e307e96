import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { settings } from "../../src/cli/settings/settings.ts";
import { createFolder } from "../support/folder.ts";
import { isInstalled } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";

const file = join(projectRoot, "ops/petstore.service");
const unit = readFileSync(file, "utf8");
const run = promisify(execFile);

describe("the systemd unit", () => {
  it("gives the service longer to stop than it takes", () => {
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
    expect(seconds * 1000).toBeGreaterThan(settings.shutdownGrace.defaultValue);
  });

  it("starts a server again for as long as its database is away, and not one whose settings are wrong", () => {
    const settingsOfRestart = unit.match(/^(?:StartLimit|Restart)\w*=.*$/gm);
    expect(settingsOfRestart).toEqual([
      "StartLimitIntervalSec=0",
      "Restart=on-failure",
      "RestartSec=5",
      "RestartPreventExitStatus=2",
    ]);
  });

  describe.skipIf(!isInstalled("systemd-analyze"))("(skipped without systemd-analyze)", () => {
    it("passes the check of systemd", async () => {
      const { stdout, stderr } = await verify(unit);
      expect(stdout + stderr).toBe("");
    });

    it("would fail the check with an unknown name", async () => {
      const { stderr } = await verify(unit.replace("ProtectHome=", "ProtectHouse="));
      expect(stderr).toContain("ProtectHouse");
    });

    it("confines the service", async () => {
      // In tenths: systemd calls up to 2.0 "OK", and beyond 5.0 "exposed".
      await run("systemd-analyze", ["security", "--offline=true", "--threshold=20", "--no-pager", file]);
    });
  });
});

/** Lets systemd check a unit, as if the program was where the unit says. */
function verify(text: string) {
  const folder = createFolder();
  const program = join(folder, "petstore");
  writeFileSync(program, "#!/bin/sh\n");
  chmodSync(program, 0o755);
  const path = join(folder, "petstore.service");
  writeFileSync(path, text.replace(/^ExecStart=\S+/m, `ExecStart=${program}`));
  return run("systemd-analyze", ["verify", path]);
}
