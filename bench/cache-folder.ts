import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where the bench keeps what takes long to make: the long history, and the peers that are compiled. */
export const cacheFolder = join(tmpdir(), "petstore-bench");
