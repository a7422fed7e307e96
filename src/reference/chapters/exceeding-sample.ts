import type { SampleCall } from "../assets/samples/call.js";
import { authorization, joinLines } from "../assets/samples/shell.js";

/** A command that makes a call once more often than `limit` allows, and counts the statuses of the answers. */
export function exceedingSample({ url }: SampleCall, limit: number): string {
  return joinLines([
    `curl -s -o /dev/null -w "%{http_code}\\n" ${authorization}`,
    `"${url}?pageSize=1&n=[1-${limit + 1}]" | sort | uniq -c`,
  ]);
}
