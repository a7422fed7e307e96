import { keyVariable, type SampleCall } from "./samples/call.ts";

/** A command that makes a call once more often than `limit` allows, and counts the statuses of the answers. */
export function exceedingSample({ url }: SampleCall, limit: number): string {
  return [
    `curl -s -o /dev/null -w "%{http_code}\\n" -H "Authorization: Bearer $${keyVariable}"`,
    `"${url}?pageSize=1&n=[1-${limit + 1}]" | sort | uniq -c`,
  ].join(" \\\n  ");
}
