import { describe, expect, it } from "vitest";
import { type Buildable, buildWhereInstalled } from "../../bench/build/compiled-peers.ts";
import { createContenders } from "../../bench/contender.ts";
import { Databases } from "../../bench/databases.ts";

const certificate = { certFile: "cert.pem", keyFile: "key.pem", pem: "" };
const databases = new Databases();

function leftOut(compiled: { go: string | undefined; rust: string | undefined }): string[] {
  const contenders = Object.values(createContenders({ protos: "protos", certificate, compiled, databases }));
  return contenders.filter(({ isUnavailable }) => isUnavailable === true).map(({ name }) => name);
}

describe("the contenders", () => {
  it("leave out the peers whose toolchain is missing", () => {
    const inGo = ["Go net/http", "Go net/http, FULL", "vanguard-go", "grpc-go"];
    expect(leftOut({ go: "go-peers", rust: "rust-peer" })).toEqual([]);
    expect(leftOut({ go: undefined, rust: "rust-peer" })).toEqual(inGo);
    expect(leftOut({ go: undefined, rust: undefined })).toEqual([...inGo, "Rust axum"]);
  });

  it("run the compiled peers with SQLite's durability", () => {
    const { goHttp, goHttpFull } = createContenders({
      protos: "protos",
      certificate,
      compiled: { go: "g", rust: "r" },
      databases,
    });
    expect([goHttp.program, ...goHttp.args("pets.db")]).toEqual(["g", "http", "pets.db", "NORMAL"]);
    expect(goHttpFull.args("pets.db")).toEqual(["http", "pets.db", "FULL"]);
  });
});

describe("peers that are compiled", () => {
  const peers: Buildable = {
    name: "the peers in sh",
    tools: ["sh"],
    source: "any system",
    build: async () => "/tmp/peers",
  };

  it("are a program where their tools are installed", async () => {
    expect(await buildWhereInstalled(peers)).toEqual({ program: "/tmp/peers" });
  });

  it("are left out with one line that says how to get a tool that is missing", async () => {
    const remark = "No no-such-tool: the peers in sh are left out (any system).";
    expect(await buildWhereInstalled({ ...peers, tools: ["sh", "no-such-tool"] })).toEqual({ remark });
  });

  it("are left out with one line that says why a build failed", async () => {
    const build = () => Promise.reject(new Error("go build has failed:\nno network\n"));
    const remark = "A build failed, so the peers in sh are left out (any system): go build has failed: no network";
    expect(await buildWhereInstalled({ ...peers, build })).toEqual({ remark });
  });
});
