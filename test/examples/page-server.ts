import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { projectRoot } from "../support/petstore.ts";

/** An example that serves a page. */
export interface PageServer {
  readonly url: string;
  /** Resolves to its exit code, and what it has written to stderr, when it has ended by itself. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
  end(): void;
}

/** Starts an example on a free port, with further variables. Resolves when it has told its address. */
export async function startPageServer(example: string, variables: Record<string, string> = {}): Promise<PageServer> {
  const env = { ...process.env, ...variables, PORT: "0" };
  const child = spawn(process.execPath, [example], { cwd: projectRoot, env });
  const end = () => child.kill();
  process.once("exit", end);
  let stderr = "";
  child.stderr.on("data", (text: Buffer) => {
    stderr += text.toString();
  });
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) => {
    child.once("close", (code) => {
      process.off("exit", end);
      resolve({ code, stderr });
    });
  });
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  return { url: /http:\S+/.exec(String(value))?.[0] ?? "", ended, end };
}
