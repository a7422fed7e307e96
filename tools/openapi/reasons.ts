import { type DescEnumValue, type DescFile, getOption, hasOption } from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { error_status, type Occurrence } from "../../gen/petstore/options/v1/error_status_pb.ts";
import { paragraphs } from "./comments.ts";

/** Why a request may fail, from the protos. */
export interface Reason {
  readonly code: string;
  /** The HTTP status. */
  readonly status: number;
  /** The canonical code of RPCs, such as `not_found`. */
  readonly canonical: string;
  readonly occurrence: Occurrence;
  readonly meaning: string;
  /** What the caller should do. */
  readonly remedy: string;
}

/** The reasons in the enum whose values have statuses. Throws an `Error` when a comment does not say what to do. */
export function readReasons(files: readonly DescFile[]): readonly Reason[] {
  const values = files.flatMap(({ enums }) => enums.flatMap(({ values }) => values));
  return values.filter((value) => hasOption(value, error_status)).map(toReason);
}

function toReason(value: DescEnumValue): Reason {
  const { http: status, canonical, occurrence } = getOption(value, error_status);
  const [meaning = "", ...remedies] = paragraphs(value);
  if (remedies.length === 0) {
    throw new Error(`${value.toString()}: the comment says what it means, but not what to do`);
  }
  // Connect numbers the canonical codes as google.rpc does.
  const code = codeToString(canonical as number as Code);
  return { code: value.localName, status, canonical: code, occurrence, meaning, remedy: remedies.join("\n\n") };
}
