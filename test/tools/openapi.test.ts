import { execFile } from "node:child_process";
import { cpSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasTools, toolCommands } from "../support/installed.ts";
import { projectRoot } from "../support/petstore.ts";

const run = promisify(execFile);

/** The project's protos, and those that they import. */
const protos = mkdtempDisposableSync(join(tmpdir(), "petstore-protos-"));

beforeAll(async () => {
  if (!hasTools) {
    return;
  }
  for (const name of ["proto", "buf.yaml"]) {
    cpSync(join(projectRoot, name), join(protos.path, name), { recursive: true });
  }
  await run(process.execPath, [join(projectRoot, "tools/gather-protos.ts"), protos.path]);
});

afterAll(() => protos.remove());

const template = JSON.stringify({
  version: "v2",
  plugins: [
    {
      local: [process.execPath, join(projectRoot, "tools/protoc-gen-openapi.ts")],
      out: "gen",
      strategy: "all",
      opt: ["target=ts", "title=Shapes", "version=2.0.0", "description=Shapes of all kinds."],
    },
  ],
  inputs: [{ directory: "proto" }],
});

/** Runs the plugin on the project's protos and one more file. Returns the description; throws with what buf says. */
async function describeProto(source: string) {
  using folder = mkdtempDisposableSync(join(tmpdir(), "petstore-openapi-"));
  cpSync(protos.path, folder.path, { recursive: true });
  writeFileSync(join(folder.path, "proto/petstore/v1/shapes.proto"), source);
  await run(join(toolCommands, "buf"), ["generate", "--template", template], { cwd: folder.path });
  return JSON.parse(readFileSync(join(folder.path, "gen/openapi.json"), "utf8"));
}

/** A service with one method, whose rule, options and request can be varied. */
function shapes({
  rule = 'get: "/v1/shapes/{shape_id}"',
  option = "",
  request = "",
  comment = "Draws it.",
  title = 'option (petstore.options.v1.title) = "Shapes";',
} = {}): string {
  return `
    syntax = "proto3";
    package petstore.v1;
    import "buf/validate/validate.proto";
    import "google/api/annotations.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/timestamp.proto";
    import "petstore/options/v1/options.proto";

    // ShapeService draws.
    service ShapeService {
      ${title}
      ${comment && `// ${comment}`}
      rpc Draw(DrawRequest) returns (Drawing) {
        option (google.api.http) = { ${rule} };
        option (petstore.options.v1.operation) = { stability: STABILITY_BETA scope: "shapes" ${option} };
      }
    }
    // What to draw.
    message DrawRequest {
      // Which one.
      int64 shape_id = 1 [(petstore.options.v1.example) = "1"];
      ${request}
    }
    // A drawing.
    message Drawing {
      // Its lines.
      repeated string lines = 1 [(petstore.options.v1.example) = '["-"]'];
    }`;
}

describe.skipIf(!hasTools)("protoc-gen-openapi (skipped without npm run tools)", () => {
  it("describes parameters of every kind, with their rules", async () => {
    const request = `
      // How wide.
      uint32 width = 2 [(buf.validate.field).uint32 = { gt: 1, lte: 9 }];
      // How thick.
      double weight = 3 [(buf.validate.field).required = true];
      // Names.
      repeated string names = 4 [(buf.validate.field).repeated = {
        min_items: 1, unique: true, items: { string: { pattern: "^[a-z]+$", max_len: 8 } }
      }];
      // Where.
      Place place = 5;
      // When.
      google.protobuf.Timestamp drawn = 6;
      // Around the shape.
      DrawRequest around = 7;
    }
    // A place.
    message Place {
      // From the left.
      sint32 from_left = 1;
      // The ink.
      bytes ink = 2;
      // Whether it is filled.
      bool filled = 3;`;
    const { info, tags, paths } = await describeProto(shapes({ request }));
    expect(info).toMatchObject({ title: "Shapes", version: "2.0.0" });
    expect(tags).toContainEqual({
      name: "ShapeService",
      "x-displayName": "Shapes",
      description: "ShapeService draws.",
    });
    const { parameters, ...operation } = paths["/shapes/{shapeId}"].get;
    expect(operation).toMatchObject({ operationId: "draw", summary: "Draws it", "x-stability": "beta" });
    const int32 = { type: "integer", format: "int32", minimum: -2147483648, maximum: 2147483647 };
    expect(parameters).toEqual([
      {
        name: "shapeId",
        in: "path",
        required: true,
        description: "Which one.",
        schema: { type: "integer", format: "int64" },
        example: 1,
      },
      {
        name: "width",
        in: "query",
        description: "How wide.",
        schema: { type: "integer", format: "uint32", minimum: 0, exclusiveMinimum: 1, maximum: 9 },
      },
      {
        name: "weight",
        in: "query",
        description: "How thick.",
        schema: { type: "number", format: "double" },
        required: true,
      },
      {
        name: "names",
        in: "query",
        description: "Names.",
        schema: {
          type: "array",
          items: { type: "string", pattern: "^[a-z]+$", maxLength: 8 },
          minItems: 1,
          uniqueItems: true,
        },
        required: true,
      },
      { name: "place.fromLeft", in: "query", description: "From the left.", schema: int32 },
      {
        name: "place.ink",
        in: "query",
        description: "The ink.",
        schema: { type: "string", contentEncoding: "base64" },
      },
      { name: "place.filled", in: "query", description: "Whether it is filled.", schema: { type: "boolean" } },
      { name: "drawn", in: "query", description: "When.", schema: { type: "string", format: "date-time" } },
      ...["shapeId", "width", "weight", "names", "place.fromLeft", "place.ink", "place.filled", "drawn"].map((name) =>
        expect.objectContaining({ name: `around.${name}` }),
      ),
    ]);
  });

  it("describes a body that is the whole message", async () => {
    const { paths, components } = await describeProto(shapes({ rule: 'put: "/v1/shapes" body: "*"' }));
    const { requestBody, parameters } = paths["/shapes"].put;
    expect(parameters).toEqual([]);
    expect(requestBody).toEqual({
      description: "What to draw.",
      required: false,
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/DrawRequest" }, example: { shapeId: 1 } },
      },
    });
    // Callers may leave fields out; answers have them all.
    expect(components.schemas.DrawRequest.required).toBeUndefined();
    expect(components.schemas.Drawing.required).toEqual(["lines"]);
    expect(components.schemas.Drawing.properties.lines).toEqual({
      description: "Its lines.",
      type: "array",
      items: { type: "string" },
    });
  });

  it("describes a verb, and a body of all that the path and headers leave", async () => {
    const request = `
      // How long.
      google.protobuf.Duration time = 2 [(buf.validate.field).duration = { gte: {seconds: 1} }];
      // A name.
      string name = 3 [
        (buf.validate.field).cel = { id: "name.short" message: "must be short" expression: "this.size() < 9" },
        (petstore.options.v1.example) = '"a"'
      ];
      // A colour.
      optional string colour = 5 [(buf.validate.field).cel = {
        id: "colour.hex" message: "must be hexadecimal" expression: "this.matches(r'^#[0-9a-f]{6}$')"
      }];
      // A shift.
      google.protobuf.Duration shift = 6;
      // The version.
      optional string version = 4 [(petstore.options.v1.header) = "If-Match"];`;
    const rule = 'post: "/v1/shapes/{shape_id}:draw" body: "*" additional_bindings: { get: "/v1/drawings/{shape_id}" }';
    const option = "success_status: 202 idempotency_key: true group: 'Lines'";
    const { paths, components } = await describeProto(shapes({ rule, request, option }));
    const { operationId, parameters, requestBody, responses, ...others } = paths["/shapes/{shapeId}:draw"].post;
    expect([operationId, paths["/drawings/{shapeId}"].get.operationId]).toEqual(["draw", "drawByShapeId"]);
    expect(others["x-group"]).toBe("Lines");
    expect(parameters.map((parameter: { name: string; in: string }) => `${parameter.in} ${parameter.name}`)).toEqual([
      "path shapeId",
      "header If-Match",
      "header Idempotency-Key",
    ]);
    expect(Object.keys(responses)[0]).toBe("202");
    expect(requestBody).toMatchObject({
      required: false,
      content: {
        "application/json": { schema: { $ref: "#/components/schemas/DrawRequestBody" }, example: { name: "a" } },
      },
    });
    expect(components.schemas.DrawRequestBody).toMatchObject({
      properties: {
        time: { description: "How long.", type: "string", pattern: "^[0-9]+(\\.[0-9]{1,9})?s$", "x-minimum": "1s" },
        name: { description: "A name. Must be short.", type: "string" },
        colour: { description: "A colour. Must be hexadecimal.", type: "string", pattern: "^#[0-9a-f]{6}$" },
        shift: { description: "A shift.", type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$" },
      },
    });
    expect(Object.keys(components.schemas.DrawRequestBody.properties)).toEqual(["time", "name", "colour", "shift"]);
  });

  it.each<[title: string, source: string, reason: string]>([
    ["without a comment", shapes({ comment: "" }), "petstore.v1.ShapeService.Draw has no comment"],
    [
      "whose path OpenAPI cannot write",
      shapes({ rule: 'get: "/v1/{shape_id=shapes/*}"' }),
      "ShapeService/Draw: /v1/{shape_id=shapes/*} takes more than one segment for a parameter",
    ],
    [
      "outside of the version",
      shapes({ rule: 'get: "/v2/shapes"' }),
      "ShapeService/Draw: GET /v2/shapes cannot be told from /v1",
    ],
    [
      "with a reason that there is not",
      shapes({ option: 'reasons: "INK_DRY"' }),
      "ShapeService/Draw names the reason INK_DRY",
    ],
    [
      "with a reason that is everybody's",
      shapes({ option: 'reasons: "INTERNAL"' }),
      "ShapeService/Draw names the reason INTERNAL",
    ],
    [
      "with a rule that has no keyword",
      shapes({ request: "// An id.\nstring id = 2 [(buf.validate.field).string.uuid = true];" }),
      "the rule string.uuid has no keyword in OpenAPI",
    ],
    [
      "with a required field without an example in a body",
      shapes({
        rule: 'put: "/v1/shapes" body: "*"',
        request: "// A name.\nstring name = 2 [(buf.validate.field).required = true];",
      }),
      "petstore.v1.DrawRequest.name has no example",
    ],
    [
      "whose message has a rule that has no keyword",
      shapes({
        rule: 'put: "/v1/shapes" body: "*"',
        request: 'option (buf.validate.message).oneof = { fields: ["shape_id"] };',
      }),
      "petstore.v1.DrawRequest has rules without a keyword",
    ],
    [
      "with a type that it does not know",
      shapes({ request: "// Which ones.\ngoogle.protobuf.FieldMask fields = 2;" }),
      "google.protobuf.FieldMask has no schema here",
    ],
  ])("refuses a method %s", async (_title, source, reason) => {
    await expect(describeProto(source)).rejects.toThrow(reason);
  });
});
