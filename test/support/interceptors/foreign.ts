import { create } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createContextKey,
  createContextValues,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import { GetPetRequestSchema, GetPetResponseSchema } from "../../../gen/petstore/v1/pet_service_pb.ts";
import { PetStatus } from "../../../gen/petstore/v1/pet_status_pb.ts";

const marked = createContextKey("", { description: "mark" });

type Change = (
  request: UnaryRequest,
  next: (request: UnaryRequest) => Promise<UnaryResponse>,
) => Promise<UnaryResponse>;

const ninetyNine = () => create(GetPetResponseSchema, { pet: { id: 99n, status: PetStatus.SOLD } });

const markedSignal = () => Object.assign(new AbortController().signal, { mark: "signal" });

const otherPet = () => create(GetPetRequestSchema, { petId: 8n });

/**
 * What an interceptor that others write may do with a call of `GetPet`. Which it does, and where, say the request's
 * headers `x-interceptor` and `x-interceptor-at`.
 */
const changes: Readonly<Record<string, Change>> = {
  "passes on a copy": (request, next) => next({ ...request }),
  "passes on another message": (request, next) => next({ ...request, message: otherPet() }),
  "changes the message in place": (request, next) => {
    Object.assign(request.message, { petId: 8n });
    return next(request);
  },
  "passes on another header": (request, next) => {
    const header = new Headers(request.header);
    header.set("x-seen", "header");
    return next({ ...request, header });
  },
  "changes the header in place": (request, next) => {
    request.header.set("x-seen", "header");
    return next(request);
  },
  "passes on another signal": (request, next) => next({ ...request, signal: markedSignal() }),
  "passes on a context value": (request, next) => {
    request.contextValues.set(marked, "value");
    return next(request);
  },
  "passes on other context values": (request, next) =>
    next({ ...request, contextValues: createContextValues().set(marked, "value") }),
  "passes on another URL": (request, next) => next({ ...request, url: "http://other.example/" }),
  "passes on a request made by hand": ({ service, method, requestMethod, header }, next) =>
    next({
      stream: false,
      service,
      method,
      requestMethod,
      url: "http://other.example/",
      header: new Headers({ "x-seen": "header", authorization: header.get("authorization") ?? "" }),
      signal: markedSignal(),
      contextValues: createContextValues().set(marked, "value"),
      message: otherPet(),
    }),
  "gives back another message": async (request, next) => {
    const response = await next(request);
    return { ...response, message: ninetyNine() };
  },
  "gives back other headers": async (request, next) => {
    const response = await next(request);
    const header = new Headers(response.header);
    header.set("x-given", "header");
    return { ...response, header, trailer: new Headers({ "x-given-trailer": "trailer" }) };
  },
  "changes the headers in place": async (request, next) => {
    const response = await next(request);
    response.header.set("x-given", "header");
    response.trailer.set("x-given-trailer", "trailer");
    return response;
  },
  "answers by itself": async ({ service, method }) => ({
    stream: false,
    service,
    method,
    header: new Headers(),
    trailer: new Headers(),
    message: ninetyNine(),
  }),
  "calls twice": async (request, next) => {
    await next(request);
    return await next(request);
  },
  "throws synchronously": () => {
    throw new ConnectError("the interceptor is not ready", Code.Unavailable);
  },
  rejects: async () => {
    throw new ConnectError("the interceptor is not ready", Code.Unavailable);
  },
};

/** Does with a call what the header asks for. It is no async function, so it may throw at once. */
function change(place: string): Interceptor {
  return (next) => (request) => {
    const kind = request.header.get("x-interceptor-at") === place ? request.header.get("x-interceptor") : null;
    const apply = kind === null ? undefined : changes[kind];
    const proceed = next as (request: UnaryRequest) => Promise<UnaryResponse>;
    return apply === undefined ? next(request) : apply(request as UnaryRequest, proceed);
  };
}

/** Takes keys by another header, as a company's own interceptor may. */
const takeKey: Interceptor = (next) => async (request) => {
  const key = request.header.get("x-company-key");
  return await next(key === null ? request : { ...request, header: new Headers({ authorization: `Bearer ${key}` }) });
};

/** Tells on the answer what it sees of the request, as the next interceptor. */
const tell: Interceptor = (next) => async (request) => {
  const { header, signal, contextValues, url } = request;
  const host = new URL(url).host === "other.example" ? "url" : "";
  const seen = [header.get("x-seen") ?? "", "mark" in signal ? signal.mark : "", contextValues.get(marked), host];
  const response = await next(request);
  response.header.set("x-sees", seen.filter((part) => part !== "").join());
  return response;
};

export const callInterceptors = [takeKey, change("call")];
export const messageInterceptors = [change("message"), tell];
