import { expect, it } from "vitest";
import { toConnectError } from "../../src/interceptors/errors.ts";
import { createConnectServices, createHealthCalls } from "../../src/server/tool-services.ts";
import { createExchange, readBody } from "../gateway/fixture.ts";

const health = { check: () => ({}), list: () => ({}), async *watch() {} };
const calls = createHealthCalls(health, toConnectError);
const { signal: stopping } = new AbortController();

function createWatch(encoding: string) {
  const header = { "content-type": "application/grpc", "grpc-encoding": encoding };
  return createExchange({ method: "POST", target: "/grpc.health.v1.Health/Watch", header, body: new Uint8Array(5) });
}

it("a stream that cannot be answered takes no place from those after it", async () => {
  const services = createConnectServices({ services: [], reflection: false, health, calls, stopping });
  const addHeader = () => {
    throw new TypeError("broken");
  };
  for (let i = 0; i < 64; i += 1) {
    const broken = Object.assign(createWatch("unknown"), { addHeader });
    await expect(services.answer(broken)).rejects.toThrow("broken");
  }
  const exchange = createWatch("identity");
  await readBody(await services.answer(exchange));
  expect(exchange.record.code).toBe("OK");
});
