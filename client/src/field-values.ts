import { type DescField, type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import { reflect, reflectList } from "@bufbuild/protobuf/reflect";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { BadRequestSchema } from "./gen/google/rpc/error_details_pb.ts";

/**
 * Refuses a request with a value that its field cannot hold, such as a string for a number. The error is
 * `InvalidArgument`, and names the field. Without it, transports send some of these values, leave out others, and fail
 * at the rest without the field's path.
 */
export const fieldValues: Interceptor = (next) => async (request) => {
  const { input } = request.method;
  if (request.stream) {
    return next({ ...request, message: checkEach(input, request.message) });
  }
  assertFits(input, request.message);
  return next(request);
};

async function* checkEach<M extends Message>(desc: DescMessage, messages: AsyncIterable<M>): AsyncGenerator<M> {
  for await (const message of messages) {
    assertFits(desc, message);
    yield message;
  }
}

/** `path` is that of the message in the request. */
function assertFits(desc: DescMessage, message: Message, path = ""): void {
  for (const field of desc.fields) {
    const value: unknown = Reflect.get(message, field.localName);
    const name = `${path}${field.localName}`;
    if (value !== undefined && field.fieldKind === "list") {
      assertIsArray(value, name);
      value.forEach((item, index) => {
        assertValueFits(field, item, `${name}[${index}]`);
      });
    } else if (value !== undefined) {
      assertValueFits(field, value, name);
    }
  }
}

function assertIsArray(value: unknown, name: string): asserts value is unknown[] {
  if (!Array.isArray(value)) {
    throw misfit(name, "expected an array");
  }
}

/** A value of a field, or an item of a list. */
function assertValueFits(field: DescField, value: unknown, name: string): void {
  if (field.message !== undefined) {
    if (!isMessage(value, field.message)) {
      throw misfit(name, "expected an object");
    }
    assertFits(field.message, value, `${name}.`);
    return;
  }
  try {
    // Both check the value as they store it, here in a message and a list that nobody reads.
    if (field.fieldKind === "list") {
      reflectList(field).add(value);
    } else {
      reflect(field.parent).set(field, value);
    }
  } catch (error) {
    throw misfit(name, (error as Error).message.replace(/^list item #\d+: /, ""));
  }
}

function misfit(field: string, description: string): ConnectError {
  return new ConnectError(`${field}: ${description}.`, Code.InvalidArgument, undefined, [
    { desc: BadRequestSchema, value: { fieldViolations: [{ field, description }] } },
  ]);
}
