import { isInstalled } from "../prerequisites.ts";
import { buildGoPeers } from "./go.ts";
import { buildRustPeer } from "./rust.ts";

/** The programs of the peers that are compiled. Undefined where they cannot be built. */
export interface CompiledPeers {
  readonly go: string | undefined;
  readonly rust: string | undefined;
}

/** Builds the peers whose toolchains are installed, and says why others are left out. The first time takes minutes. */
export async function buildCompiledPeers(): Promise<{ compiled: CompiledPeers; remarks: readonly string[] }> {
  const [go, rust] = [await buildWhereInstalled(goPeers), await buildWhereInstalled(rustPeer)];
  return {
    compiled: { go: go.program, rust: rust.program },
    remarks: [go.remark, rust.remark].filter((remark) => remark !== undefined),
  };
}

/** Some peers, and what builds them. */
export interface Buildable {
  readonly name: string;
  /** The programs that must be installed. */
  readonly tools: readonly string[];
  /** Where to get them. */
  readonly source: string;
  /** Returns the program. */
  readonly build: () => Promise<string>;
}

const goPeers: Buildable = {
  name: "the peers in Go",
  tools: ["go", "gcc"],
  source: "Go 1.26 or newer from https://go.dev/dl, `apt-get install gcc`",
  build: buildGoPeers,
};

const rustPeer: Buildable = {
  name: "the peers in Rust",
  tools: ["cargo", "gcc"],
  source: "Rust 1.89 or newer from https://rustup.rs, `apt-get install gcc`",
  build: buildRustPeer,
};

/** What came of a build: the program, or one line that says why there is none. */
export async function buildWhereInstalled({ name, tools, source, build }: Buildable): Promise<{
  readonly program?: string;
  readonly remark?: string;
}> {
  const missing = tools.filter((tool) => !isInstalled(tool));
  if (missing.length > 0) {
    return { remark: `No ${missing.join(", no ")}: ${name} are left out (${source}).` };
  }
  try {
    return { program: await build() };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { remark: `A build failed, so ${name} are left out (${source}): ${text.trim().replaceAll(/\s+/g, " ")}` };
  }
}
