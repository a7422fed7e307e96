import { ServerSignals } from "./cli/server-signals.ts";

// Before all else is loaded, which takes a good part of a second, in which a signal would end a server that starts.
const signals = new ServerSignals();
const { run } = await import("./cli/program.ts");
process.exitCode = await run(process.argv.slice(2), signals);
