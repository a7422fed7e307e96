/**
 * Gathers the third-party protos that ours import, or that the service implements, from npm packages into the
 * git-ignored folder `.protos`, which `buf.yaml` names as a module. So the repository has no copy of them, and buf
 * needs no schema registry.
 *
 *     bin/node tools/gather-protos.ts [ROOT]
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { protoSource } from "./proto-source.ts";

const packages = join(import.meta.dirname, "node_modules");

/** Maps the path that an import names to a file of a package. */
const sources = {
  "google/api/annotations.proto": "google-gax/build/protos/google/api/annotations.proto",
  "google/api/http.proto": "google-gax/build/protos/google/api/http.proto",
  "google/rpc/code.proto": "google-gax/build/protos/google/rpc/code.proto",
  "google/rpc/error_details.proto": "google-gax/build/protos/google/rpc/error_details.proto",
  "grpc/health/v1/health.proto": "grpc-health-check/proto/health/v1/health.proto",
  "grpc/reflection/v1/reflection.proto": "@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto",
  "grpc/reflection/v1alpha/reflection.proto": "@grpc/reflection/build/proto/grpc/reflection/v1alpha/reflection.proto",
};

const target = join(process.argv[2] ?? join(import.meta.dirname, ".."), ".protos");
rmSync(target, { recursive: true, force: true });
for (const [name, source] of Object.entries(sources)) {
  cpSync(join(packages, source), join(target, name));
}
const validate = join(target, `${file_buf_validate_validate.name}.proto`);
mkdirSync(dirname(validate), { recursive: true });
writeFileSync(validate, protoSource(file_buf_validate_validate));
