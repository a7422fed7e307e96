import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type Operation, StabilitySchema } from "../../gen/petstore/options/v1/options_pb.ts";
import { operationOf } from "../../src/interceptors/operation.ts";
import { doc } from "./doc.ts";

/** A service's methods, each with what its options say. */
export function serviceType(service: DescService): string {
  const methods = service.methods.map((method) => {
    const { localName, input, output } = method;
    const signature = `${localName}(request: ${input.name}, options?: CallOptions): Promise<${output.name}>;`;
    return `${doc(method, { indent: "  ", more: promises(method) })}\n  ${signature}`;
  });
  return `${doc(service)}\nexport interface ${clientName(service)} {\n${methods.join("\n\n")}\n}`;
}

/** Such as `InventoryClient`, for `InventoryService`. */
function clientName({ name }: DescService): string {
  return name.replace(/Service$/, "Client");
}

function promises(method: DescMethod): string[] {
  if (method.methodKind !== "unary") {
    throw new Error(`${method.toString()}: the client has unary methods alone`);
  }
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
    ...reasons.map((reason) => `Besides what every call may fail with: \`${reason}\`.`),
  ].join(" ");
}

function deprecationTag({ deprecation }: Operation): string[] {
  return deprecation === undefined
    ? []
    : [`@deprecated Since ${deprecation.since}. It may end after ${deprecation.sunset}.`];
}
