import { ServerSignals } from "./cli/server-signals.ts";

// Comes first: the other modules take a good part of a second to load, in which a signal would end a starting server.
const signals = new ServerSignals();
const { run } = await import("./cli/program.ts");
process.exitCode = await run(process.argv.slice(2), signals);
