import type { ApiClient, CallOptions, Outcome } from "./clients/client.ts";
import { protocolNamed, rest } from "./clients/protocols.ts";
import type { Input, Operation } from "./operations.ts";
import type { TestServer } from "./server.ts";

/** Clients that call at once, half of them over REST and half over gRPC. */
export class Crowd {
  readonly #clients: readonly ApiClient[];

  constructor(server: TestServer, size: number) {
    const protocols = [rest, protocolNamed("gRPC")];
    const byProtocol = protocols.map((protocol) => Array.from({ length: size / 2 }, () => protocol.open(server)));
    // In turn, so that neither half comes first as a whole.
    this.#clients = Array.from({ length: size }, (_, index) => byProtocol[index % 2]?.[index >> 1] as ApiClient);
  }

  /** Has every client make a call at the same time. */
  call<O extends Operation>(
    operation: O,
    input: (client: number) => Input<O>,
    options?: CallOptions,
  ): Promise<Outcome<O>[]> {
    return Promise.all(this.#clients.map((client, index) => client.call(operation, input(index), options)));
  }

  close(): void {
    for (const client of this.#clients) {
      client.close();
    }
  }
}
