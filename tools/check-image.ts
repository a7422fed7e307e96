/**
 * Builds the Dockerfile and runs the image without Docker or a registry: with Buildah and Bubblewrap, on base images
 * made from Debian's packages. Needs root, a network, and some minutes.
 *
 *     apt-get install buildah bubblewrap mmdebstrap
 *     bin/node tools/check-image.ts
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeBaseImages } from "./image/base-images.ts";
import { Buildah } from "./image/buildah.ts";
import { Container } from "./image/container.ts";

using scratch = mkdtempDisposableSync(join(tmpdir(), "petstore-image-"));
const root = join(scratch.path, "root");
const data = join(scratch.path, "data");
const buildah = new Buildah(scratch.path);

step("making the base images");
makeBaseImages(buildah, scratch.path);

step("building the image");
const trusted = process.env.NODE_EXTRA_CA_CERTS;
buildah.build(join(import.meta.dirname, ".."), "petstore-inventory", trusted === undefined ? [] : [trusted]);
buildah.export("petstore-inventory", root);
console.log(`the image has ${execFileSync("du", ["-sm", root], { encoding: "utf8" }).split("\t")[0]} MB`);

step("serving from it");
const config = buildah.inspect("petstore-inventory");
mkdirSync(data);
execFileSync("chown", [config.User, data]);
// The image's user must be able to enter the folder.
chmodSync(scratch.path, 0o755);
const env = { PETSTORE_PORT: "18080", PETSTORE_OPS_PORT: "19090" };
const container = new Container({ root, data, config, env });
const { line, process: server, pid } = await container.start();
const ended = once(server, "exit");
try {
  assert.equal(line, "petstore listening on http://0.0.0.0:18080");
  const health = container.run(...config.Healthcheck.Test.slice(1));
  assert.equal(health.status, 0, `the health check fails: ${health.stderr}`);
  assert.equal((await fetch("http://127.0.0.1:19090/healthz")).status, 200);

  const created = container.run("petstore", "keys", "create", "--plan", "pro", "--json");
  const headers = { authorization: `Bearer ${JSON.parse(created.stdout).key}` };
  assert.equal((await fetch("http://127.0.0.1:18080/v1/inventory", { headers })).status, 200);
  assert.equal(container.run("petstore", "backup", "copy.db").status, 0);
  assert.match(container.run("petstore", "backup", "/app/copy.db").stderr, /EROFS|read-only/);

  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  assert.match(status, /^CapBnd:\t0+$/m);
  assert.match(status, /^NoNewPrivs:\t1$/m);
  assert.match(status, /^NSpid:\t\d+\t1$/m);
} finally {
  process.kill(pid, config.StopSignal);
}
assert.deepEqual(await ended, [0, null]);
assert.notEqual(container.run(...config.Healthcheck.Test.slice(1)).status, 0);
console.log("the image serves, confined, and stops when it is told to");

function step(text: string): void {
  console.log(`${text} …`);
}
