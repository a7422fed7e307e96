import { create, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { anyPack, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { type JsonPolicy, protoJson } from "../../../src/proto-json/json-policy.ts";
import { JsonWriters } from "../../../src/proto-json/json-writer.ts";
import { policy, registry } from "../../gateway/fixture.ts";
import { Colour, ShapeSchema } from "../../gateway/gen/shapes/v1/shapes_pb.ts";
import { beyondDouble, int64Max, int64Min } from "../../support/fixture.ts";

/** Bodies of a stock update over REST. */
export const updates: readonly string[] = [
  '{"quantity":5}',
  '{"quantity": -9223372036854775808, "note": {"by": ["a", null, 1.5e3]}}',
  '{"quantity":30e-1}',
];

/** Requests of the API's RPCs in ProtoJSON. */
export const requestJson: readonly string[] = [
  '{"petId":"7","update":{"quantity":"9223372036854775807"}}',
  '{"petId":7,"update":{"quantity":3.0}}',
  '{"pet_id":"-5","unknown":{"a":[1,{"b":null}]}}',
  '{"pageSize":2,"pageToken":"AcbWj_8AAAAAAAAABw","status":["PET_STATUS_SOLD","PET_STATUS_PENDING"]}',
  '{"page_size":"10000","status":[1,2]}',
];

const inner = create(ShapeSchema, { name: "in\u00e9\u{1f415}", big: -1n, children: [{ child: {} }] });

/** Shapes whose fields, taken together, are of every kind that there is. */
const shapes: readonly MessageInitShape<typeof ShapeSchema>[] = [
  { name: "a", small: -1, unsigned: 4294967295, big: int64Min, huge: 18446744073709551615n, zigzag: int64Max },
  { fixed: 1, signedFixed: beyondDouble, flag: true, data: Uint8Array.of(0, 255), ratio: 1.5, exact: -1e-300 },
  { colour: Colour.RED, maybe: 0n, maybeText: "", maybeColour: Colour.DARK_BLUE, asText: "9007199254740993" },
  { texts: ["", "b"], bigs: [1n, -1n], colours: [1, 2], children: [inner, {}], child: inner, customName: "c" },
  { counts: { a: 1n, __proto__: 2n }, names: { "-5": "x" }, painted: { true: 1 }, shapes: { "a.b": inner } },
  { choice: { case: "shapeChoice", value: inner }, time: { seconds: -1n, nanos: 999_999_999 } },
  { choice: { case: "wrappedChoice", value: { value: "w" } }, span: { seconds: -3n, nanos: -500_000_000 } },
  { choice: { case: "nullChoice", value: 0 }, mask: { paths: ["name", "child.big"] }, empty: {} },
  { wrappedText: "", wrappedBig: 1n, wrappedFlag: false, wrappedDouble: Number.NaN, wrappedData: Uint8Array.of(1) },
  { object: { a: [1, null, { b: "c" }] }, objects: [{}], objectMap: { k: { d: true } }, wrappedBigs: [{ value: 7n }] },
  {
    value: { kind: { case: "numberValue", value: -0 } },
    list: { values: [{ kind: { case: "boolValue", value: true } }] },
  },
];

const withAny: readonly MessageInitShape<typeof ShapeSchema>[] = [
  { any: anyPack(ShapeSchema, inner) },
  { any: anyPack(TimestampSchema, create(TimestampSchema, { seconds: 1n })) },
];

/** Shapes in the JSON of the gateway's tests. */
export const restShapes: readonly string[] = [...shapes, ...withAny].map((init) => writeShape(init, policy));

/** Shapes as the gateway writes ProtoJSON. */
export const gatewayShapes: readonly string[] = [...shapes, ...withAny].map((init) => writeShape(init, protoJson));

/** Shapes in ProtoJSON. */
export const protoJsonShapes: readonly string[] = shapes.map((init) =>
  toJsonString(ShapeSchema, create(ShapeSchema, init)),
);

/** Shapes in the binary format, as texts whose characters are bytes. */
export const binaryShapes: readonly string[] = [...shapes, ...withAny].map((init) =>
  Buffer.from(toBinary(ShapeSchema, create(ShapeSchema, init))).toString("latin1"),
);

function writeShape(init: MessageInitShape<typeof ShapeSchema>, json: JsonPolicy): string {
  return new JsonWriters(json, registry).message(ShapeSchema)(create(ShapeSchema, init));
}
