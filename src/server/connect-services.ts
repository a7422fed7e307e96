import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { assertAuthority } from "../http/authority.ts";
import { discardUnread, holdUnread } from "../http/unread-body.ts";
import { healthService } from "../services/health.ts";
import { reflectionService } from "../services/reflection.ts";
import { refusalAnswer } from "./refusal.ts";

/** The largest message that they read, in bytes. */
const readMaxBytes = 64 * 1024;

/** What the services tell of. */
export interface ConnectServicesOptions {
  readonly services: readonly DescService[];
  readonly reflection: boolean;
  /** Aborts when the server stops serving; it ends their streams. */
  readonly stopping: AbortSignal;
}

/**
 * Health and reflection: without a key, and not counted. They stream, and are served by Connect's own handlers, from
 * Node's own requests.
 */
export interface ConnectServices {
  readonly serves: (path: string) => boolean;
  readonly handle: RequestListener;
}

export function createConnectServices({ services, reflection, stopping }: ConnectServicesOptions): ConnectServices {
  const reflected = [...services, Health, ...(reflection ? [ServerReflection, ServerReflectionAlpha] : [])];
  const implementation = reflectionService(reflected);
  const served = reflection ? [Health, ServerReflection, ServerReflectionAlpha] : [Health];
  const paths = new Set(served.flatMap(({ typeName, methods }) => methods.map(({ name }) => `/${typeName}/${name}`)));
  const adapter = connectNodeAdapter({
    readMaxBytes,
    shutdownSignal: stopping,
    routes(router) {
      router.service(Health, healthService({ serviceNames: services.map(({ typeName }) => typeName), stopping }));
      if (reflection) {
        router.service(ServerReflection, implementation);
        // The two versions differ in nothing but their names.
        router.service(ServerReflectionAlpha, implementation as unknown as ServiceImpl<typeof ServerReflectionAlpha>);
      }
    },
  }) as RequestListener;
  return {
    serves: (path) => paths.has(path),
    handle(request, response) {
      if (request.httpVersionMajor === 1) {
        const connected = { request, socket: request.socket };
        holdUnread(connected);
        response.once("finish", () => discardUnread(connected));
      }
      try {
        assertAuthority(authorityOf(request));
      } catch (reason) {
        return refuse(response, reason);
      }
      // Connect's adapter makes a URL of it, and what is a host by HTTP need not be one by the URL standard.
      request.headers.host = "localhost";
      if (request.headers[":authority"] !== undefined) {
        request.headers[":authority"] = "localhost";
      }
      // A client may go away when the adapter listens for it no more, as after the answer to half a request.
      request.on("error", () => {});
      response.on("error", () => {});
      adapter(request, response);
    },
  };
}

function authorityOf({ headers }: IncomingMessage): string | undefined {
  return (headers[":authority"] as string | undefined) ?? headers.host;
}

function refuse(response: ServerResponse, reason: unknown): void {
  const { status, header, body } = refusalAnswer(reason);
  response.writeHead(status, { ...Object.fromEntries(header), "content-length": body.length });
  response.end(body);
}
