import { MemoryData, MemoryStore } from "./memory-store.ts";
import { describeStore } from "./suite.ts";

describeStore("the model in memory", async () => {
  const data = new MemoryData();
  const open = async () => new MemoryStore(data);
  return { store: await open(), openAnother: open, reopen: open, close: async () => {} };
}, ["maintenance"]);
