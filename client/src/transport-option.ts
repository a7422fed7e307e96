/** The options that every transport of Connect takes. All of them must reach the transport. */
export interface TransportOptions {
  /** The address that the paths of RPCs are appended to. */
  baseUrl: string;
  /** The client's interceptors: its retries, its limits, its key. Your own may stand before or after them. */
  // biome-ignore lint/suspicious/noExplicitAny: Connect's type for it needs TypeScript 5.7.
  interceptors: ((next: any) => any)[];
}

/** A transport of Connect, such as `createGrpcTransport` of `@connectrpc/connect-node` makes. */
export interface Transport {
  /** Makes a call that takes one message, and is answered with one. */
  // biome-ignore lint/suspicious/noExplicitAny: Connect's type for it needs TypeScript 5.7.
  unary(...call: any[]): Promise<any>;
  /** Makes a call that takes or gives a stream of messages, such as a watch. */
  // biome-ignore lint/suspicious/noExplicitAny: Connect's type for it needs TypeScript 5.7.
  stream(...call: any[]): Promise<any>;
}
