import type { Contenders } from "../contender.ts";
import type { DataSet } from "../data-set.ts";

/** What scenarios need. */
export interface Setting {
  readonly contenders: Contenders;
  /** The pets of a city. */
  readonly city: DataSet;
  /** Twenty pets. */
  readonly shop: DataSet;
  readonly directory: string;
}
