import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type Operation, StabilitySchema } from "../../gen/petstore/options/v1/options_pb.ts";
import { operationOf } from "../../src/interceptors/operation.ts";
import { doc } from "./doc.ts";

/** The type of a service. The comment of each method also says what its options say. */
export function serviceType(service: DescService): string {
  const methods = service.methods.map((method) => {
    const { localName, input } = method;
    const signature = `${localName}(request: ${input.name}, options?: CallOptions): ${resultType(method)};`;
    return `${doc(method, { indent: "  ", more: promises(method) })}\n  ${signature}`;
  });
  return `${doc(service)}\nexport interface ${clientName(service)} {\n${methods.join("\n\n")}\n}`;
}

/** Such as `InventoryClient`, for `InventoryService`. */
function clientName({ name }: DescService): string {
  return name.replace(/Service$/, "Client");
}

function resultType(method: DescMethod): string {
  const { methodKind, output } = method;
  switch (methodKind) {
    case "unary":
      return `Promise<${output.name}>`;
    case "server_streaming":
      return `AsyncIterable<${output.name}>`;
    default:
      throw new Error(`${method.toString()}: the client has no methods that stream requests`);
  }
}

function promises(method: DescMethod): string[] {
  const operation = operationOf(method);
  if (operation === undefined) {
    throw new Error(`${method.toString()} has no option petstore.options.v1.operation`);
  }
  return [facts(operation), ...deprecationTag(operation)];
}

function facts({ stability, scope, reasons }: Operation): string {
  return [
    `Stability: ${StabilitySchema.value[stability]?.localName.toLowerCase()}.`,
    `Scope: ${scope === "" ? "none" : `\`${scope}\``}.`,
    ...(reasons.length === 0 ? [] : [`Besides what every call may fail with: ${reasons.map(quote).join(", ")}.`]),
  ].join(" ");
}

function quote(reason: string): string {
  return `\`${reason}\``;
}

function deprecationTag({ deprecation }: Operation): string[] {
  return deprecation === undefined
    ? []
    : [`@deprecated Since ${deprecation.since}. It may end after ${deprecation.sunset}.`];
}
