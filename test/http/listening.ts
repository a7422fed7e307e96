import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createClientAddress } from "../../src/http/client-address.ts";
import { HeaderList } from "../../src/http/header-list.ts";
import { type Listener, type ListenerOptions, listen } from "../../src/http/listener.ts";

/** How a test's listener differs from others. */
export interface TestListenerOptions extends Partial<ListenerOptions> {
  readonly handle: ListenerOptions["handle"];
  /** Answers what could not be read as a request. */
  readonly handleFault?: ListenerOptions["handle"];
}

/** Listens until the test has finished. A request has a second to arrive. */
export async function listenWith({
  handle,
  handleFault = (exchange) => exchange.respond({ status: 400, header: new HeaderList() }),
  ...options
}: TestListenerOptions): Promise<Listener> {
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    tls: undefined,
    requestTimeoutMs: 1_000,
    clientAddress: createClientAddress([]),
    mayHoldSecret: () => false,
    reportAcceptError: () => {},
    reportBurst: () => {},
    handle: (exchange) => (exchange.method === "" ? handleFault : handle)(exchange),
    ...options,
  });
  onTestFinished(() => listener.close(0));
  return listener;
}

/** A connection that takes what comes. */
export interface Client {
  readonly socket: Socket;
  /** All that has come. */
  readonly received: () => string;
  readonly closed: Promise<unknown>;
}

/** Connects until the test has finished. */
export async function openTo({ address }: Listener): Promise<Client> {
  const socket = connect({ port: address.port, host: "127.0.0.1", noDelay: true }).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  return { socket, received: () => received, closed: new Promise((resolve) => socket.once("close", resolve)) };
}
