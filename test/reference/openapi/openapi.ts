import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { projectRoot } from "../../support/petstore.ts";

/** A part of the description, and its place as a JSON pointer, by which schemas are compiled. */
export interface Located<T = Json> {
  readonly pointer: string;
  readonly value: T;
}

/** Any object of the description. */
export type Json = { readonly [name: string]: unknown };

/** The OpenAPI description in the repository. */
export class OpenApi {
  readonly document = JSON.parse(readFileSync(join(projectRoot, "gen/openapi.json"), "utf8"));
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor() {
    formats.default(this.#ajv);
    this.#ajv.addSchema(closed(this.document), "openapi");
  }

  /** The operations, by `GET /inventory` and so on. */
  get operations(): ReadonlyMap<string, Located> {
    const { paths } = this.document as { paths: Record<string, Record<string, Json>> };
    return new Map(
      Object.entries(paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => [`${method.toUpperCase()} ${path}`, this.at("paths", path, method)]),
      ),
    );
  }

  /** The part at a path of names. References are followed. Throws when there is none. */
  at(...names: readonly string[]): Located {
    return names.reduce<Located>((parent, name) => this.within(parent, name), { pointer: "", value: this.document });
  }

  /** The part under a name within another part. Throws when there is none. */
  within({ pointer, value }: Located, name: string): Located {
    const found = value[name] as Json | undefined;
    if (found === undefined) {
      throw new Error(`the description has no ${name} at ${pointer}`);
    }
    const { $ref } = found;
    if (typeof $ref === "string") {
      return this.at(...$ref.slice("#/".length).split("/").map(decodeName));
    }
    return { pointer: `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, value: found };
  }

  /** The errors of a value by a schema; empty when it is valid. */
  faults({ pointer }: Located, value: unknown): readonly string[] {
    const fragment = pointer.split("/").map(encodeURIComponent).join("/");
    const validate = this.#ajv.compile({ $ref: `openapi#${fragment}` });
    validate(value);
    return (validate.errors ?? []).map(describe);
  }
}

function decodeName(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

function describe({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath || "it"} ${message} ${JSON.stringify(params)}`;
}

/** Forbids undescribed fields, which later versions may add. */
function closed(document: { components: { schemas: Record<string, Json> } }): object {
  const { components } = document;
  const schemas = Object.entries(components.schemas).map(([name, schema]) => [
    name,
    schema.type === "object" ? { ...schema, additionalProperties: false } : schema,
  ]);
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } };
}
