import { openNewSqlite } from "./sqlite-store.ts";
import { describeStore } from "./suite.ts";

describeStore("the SQLite store of a command", () => openNewSqlite({ writesDirectly: true }));
