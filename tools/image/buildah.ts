import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** How an image must be run. */
export interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  /** Each is `NAME=value`. */
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly StopSignal: NodeJS.Signals;
  readonly Healthcheck: { readonly Test: readonly ["CMD", ...string[]] };
}

/** Makes images as Docker does, without a daemon, and keeps them in a folder. */
export class Buildah {
  readonly #storage: readonly string[];

  constructor(folder: string) {
    this.#storage = ["--root", join(folder, "storage"), "--runroot", join(folder, "run")];
  }

  /** Makes an image of the files of a tar archive. */
  import(archive: string, name: string, ...config: readonly string[]): void {
    const container = this.#run("from", "scratch");
    this.#run("add", container, archive, "/");
    this.#run("config", ...config, container);
    this.#run("commit", "--quiet", "--rm", container, name);
  }

  /**
   * Builds the Dockerfile of a folder without a registry. Its commands have the network and these files.
   */
  build(folder: string, name: string, files: readonly string[]): void {
    const volumes = files.flatMap((file) => ["--volume", `${file}:${file}:ro`]);
    const surroundings = ["--pull-never", "--isolation", "chroot", "--network", "host", ...volumes];
    const args = [...this.#storage, "build", "--format", "docker", ...surroundings, "--tag", name, folder];
    execFileSync("buildah", args, { stdio: ["ignore", 2, 2] });
  }

  inspect(image: string): ImageConfig {
    return JSON.parse(this.#run("inspect", "--type", "image", image)).Docker.config;
  }

  /** Copies the files of an image into a folder. */
  export(image: string, folder: string): void {
    const container = this.#run("from", "--pull-never", image);
    execFileSync("cp", ["--archive", this.#run("mount", container), folder]);
    this.#run("rm", container);
  }

  #run(...args: readonly string[]): string {
    return execFileSync("buildah", [...this.#storage, ...args], { encoding: "utf8" }).trim();
  }
}
