import type { DescMessage } from "@bufbuild/protobuf";
import type { HttpRule } from "../../src/gateway/routes/http-rule.ts";
import { requireField } from "../../src/proto-json/fields.ts";

/** The message types in request bodies, nested ones included. */
export function messagesInBodies(rules: readonly HttpRule[]): ReadonlySet<DescMessage> {
  const found = new Set<DescMessage>();
  for (const { method, body } of rules) {
    const root = body === "*" ? method.input : body === "" ? undefined : requireField(method.input, body).message;
    collect(root, found);
  }
  return found;
}

function collect(desc: DescMessage | undefined, found: Set<DescMessage>): void {
  if (desc !== undefined && !found.has(desc)) {
    found.add(desc);
    for (const { message } of desc.fields) {
      collect(message, found);
    }
  }
}
