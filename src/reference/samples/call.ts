/** One call of an operation with example values, as the code samples show it. */
export interface SampleCall {
  readonly method: string;
  /** The whole address over REST. */
  readonly url: string;
  /** The JSON text of the body over REST; undefined for none. */
  readonly body: string | undefined;
  /** The path of the RPC, such as `petstore.v1.InventoryService/UpdateInventory`. */
  readonly rpc: string;
  /** The JSON text of the RPC's message. */
  readonly message: string;
}

/** The environment variable from which every sample takes the API key. */
export const keyVariable = "PETSTORE_API_KEY";
