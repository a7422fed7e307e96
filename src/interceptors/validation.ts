import { pathToString } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import type { Interceptor } from "@connectrpc/connect";
import { invalidRequest } from "../domain/errors.ts";

/** Holds each message to the rules that its proto states. Throws `INVALID_REQUEST`, with every field that is wrong. */
export function validationInterceptor(): Interceptor {
  const validator = createValidator();
  return (next) => async (request) => {
    if (!request.stream) {
      const result = validator.validate(request.method.input, request.message);
      if (result.kind === "invalid") {
        throw invalidRequest(result.violations.map(toSentence).join("; "), result.violations.map(toFieldViolation));
      }
      if (result.kind === "error") {
        throw result.error;
      }
    }
    return next(request);
  };
}

/** Names the field as its JSON does, and without the messages around it, which not every protocol shows. */
function toSentence({ field, message }: Violation): string {
  const name = field.findLast((part) => part.kind === "field")?.jsonName;
  return name === undefined ? message : `${name}: ${message}`;
}

function toFieldViolation({ field, message }: Violation) {
  return { field: pathToString(field), description: message };
}
