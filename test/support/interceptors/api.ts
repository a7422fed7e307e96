import { type ApiOptions, createApi as createPlainApi } from "../../../src/server/api.ts";

export * from "../../../src/server/api.ts";

type Added = Pick<ApiOptions, "callInterceptors" | "messageInterceptors">;

const added: Added = await import(`./${process.env.TEST_INTERCEPTORS}.ts`);

/** The API with the interceptors of the module that `TEST_INTERCEPTORS` names. */
export function createApi(options: ApiOptions) {
  const { callInterceptors = [], messageInterceptors = [] } = added;
  return createPlainApi({ ...options, callInterceptors, messageInterceptors });
}
