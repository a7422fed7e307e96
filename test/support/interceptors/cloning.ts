import { clone } from "@bufbuild/protobuf";
import { createContextValues, type Interceptor, type UnaryRequest, type UnaryResponse } from "@connectrpc/connect";

/** Passes on a copy of the request, and gives back a copy of the response. No object is the one that it was given. */
const cloning: Interceptor = (next) => async (request) => {
  const response = await next(cloneRequest(request as UnaryRequest));
  return cloneResponse(response as UnaryResponse);
};

function cloneRequest(request: UnaryRequest): UnaryRequest {
  const { method, message, header, signal, contextValues } = request;
  return {
    ...request,
    message: clone(method.input, message),
    header: new Headers(header),
    signal: AbortSignal.any([signal]),
    contextValues: Object.assign(createContextValues(), contextValues),
  };
}

function cloneResponse(response: UnaryResponse): UnaryResponse {
  const { method, message, header, trailer } = response;
  return {
    ...response,
    message: clone(method.output, message),
    header: new Headers(header),
    trailer: new Headers(trailer),
  };
}

export const callInterceptors = [cloning, cloning];
export const messageInterceptors = [cloning, cloning];
