import type { SampleCall } from "./call.ts";
import { writeCurl } from "./curl.ts";
import { writeGo } from "./go.ts";
import { writeGrpcurl } from "./grpcurl.ts";
import { writePython } from "./python.ts";
import { writeTypeScript } from "./typescript.ts";

/** A language in which the reference shows each call. */
export interface SampleLanguage {
  readonly label: string;
  /** What the highlighter calls it. */
  readonly syntax: string;
  readonly write: (call: SampleCall) => string;
}

/** The languages of the code samples, in the order of their tabs. */
export const sampleLanguages: readonly SampleLanguage[] = [
  { label: "curl", syntax: "sh", write: writeCurl },
  { label: "TypeScript", syntax: "ts", write: writeTypeScript },
  { label: "Python", syntax: "py", write: writePython },
  { label: "Go", syntax: "go", write: writeGo },
  { label: "grpcurl", syntax: "sh", write: writeGrpcurl },
];
