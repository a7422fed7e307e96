import { type DescFile, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { Occurrence } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { Stability, title as serviceTitle } from "../../gen/petstore/options/v1/options_pb.ts";
import { ErrorSchema } from "../../gen/petstore/v1/error_pb.ts";
import { type HttpRule, httpRules } from "../../src/gateway/routes/http-rule.ts";
import { QueryFieldSets } from "../../src/gateway/url.ts";
import { operationOf } from "../../src/interceptors/operation.ts";
import { restJson } from "../../src/server/rest-json.ts";
import { messagesInBodies } from "./body-messages.ts";
import { description } from "./comments.ts";
import { commonHeaders, headerComponents, refer } from "./headers.ts";
import type { Info } from "./info.ts";
import { bindMethod, createOperation, type Shared } from "./operation.ts";
import { basePath, pathOf } from "./path.ts";
import { type Reason, readReasons } from "./reasons.ts";
import { failure, Responses } from "./responses.ts";
import { Schemas } from "./schemas.ts";
import type { Document, PathItem, Response, Schema } from "./types.ts";

/** Describes the REST of all services in these files. Throws an `Error` for what cannot be described. */
export function createDocument(files: readonly DescFile[], info: Info): Document {
  const services = files.flatMap((file) => file.services).sort((a, b) => Number(isStable(b)) - Number(isStable(a)));
  const rules = services.flatMap(({ methods }) => methods).flatMap(httpRules);
  const shared = createShared(files, rules);
  const paths = createPaths(rules, shared);
  return {
    openapi: "3.1.1",
    info: {
      title: info.title,
      version: info.version,
      description: info.description,
      license: { name: "Apache 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: basePath }],
    tags: services.map(createTag),
    paths,
    components: {
      securitySchemes: { apiKey },
      schemas: withCodes(shared),
      headers: headerComponents,
      responses: shared.responses.components,
    },
    "x-options": options,
    "x-unknown-path": unknownPath(shared),
    "x-error-reasons": shared.reasons.map(({ code, status, canonical, meaning, remedy }) => ({
      code,
      status,
      canonical,
      meaning,
      remedy,
    })),
  };
}

/** Whether one of a service's methods is stable: readers find these services first. */
function isStable({ methods }: DescService): boolean {
  return methods.some((method) => operationOf(method)?.stability === Stability.STABLE);
}

/** The name is for generators of code, the title for people, as Redoc and others read it. */
function createTag(service: DescService) {
  if (!hasOption(service, serviceTitle)) {
    throw new Error(`${service.toString()} has no title`);
  }
  return { name: service.name, "x-displayName": getOption(service, serviceTitle), description: description(service) };
}

function createShared(files: readonly DescFile[], rules: readonly HttpRule[]): Shared {
  const schemas = new Schemas(restJson, messagesInBodies(rules));
  const error = files.flatMap(({ messages }) => messages).find(({ typeName }) => typeName === ErrorSchema.typeName);
  if (error === undefined) {
    throw new Error(`there is no message ${ErrorSchema.typeName}`);
  }
  return {
    schemas,
    queries: new QueryFieldSets(restJson),
    responses: new Responses(),
    reasons: readReasons(files),
    error: schemas.message(error),
  };
}

function createPaths(rules: readonly HttpRule[], shared: Shared): Record<string, PathItem> {
  const byPath = Map.groupBy(rules.map(bindMethod), pathOf);
  const items = [...byPath].map(([path, bounds]): [string, PathItem] => {
    const operations = bounds.map((bound) => [bound.rule.httpMethod.toLowerCase(), createOperation(bound, shared)]);
    return [path, Object.fromEntries(operations)];
  });
  return Object.fromEntries(items);
}

const apiKey = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "psk_…",
  description: "An API key. The `x-scope` of an operation names the scope that it needs.",
};

/** The answer to OPTIONS on every known path. */
const options: Response = {
  description:
    "The methods that the path takes. HEAD is among them wherever GET is, but for streams, and answers as it does.",
  headers: { ...commonHeaders, ...refer("Allow", "Accept-Patch") },
};

function unknownPath({ reasons, error }: Shared): Response {
  return failure(
    reasons.filter(({ occurrence }) => occurrence === Occurrence.UNROUTED),
    error,
  );
}

/** Error codes are strings in the protos, because more may be added. */
function withCodes({ schemas, reasons }: Shared): Readonly<Record<string, Schema>> {
  const { components } = schemas;
  const error = components.Error as { properties: Record<string, Schema> };
  const code = { ...error.properties.code, enum: reasons.map((reason: Reason) => reason.code) };
  return { ...components, Error: { ...error, properties: { ...error.properties, code } } };
}
