import { collectGarbage } from "./inspector.ts";
import { readMetrics } from "./metrics.ts";
import type { TestServer } from "./server.ts";

/** The memory of the objects and buffers of an inspectable server after a garbage collection, in megabytes. */
export async function keptMegabytes(server: TestServer): Promise<number> {
  await collectGarbage(() => server.log);
  const metrics = await readMetrics(server);
  return (metrics.sum("nodejs_heap_size_used_bytes") + metrics.sum("nodejs_external_memory_bytes")) / 1e6;
}
