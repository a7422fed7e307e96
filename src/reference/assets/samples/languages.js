// @ts-check
import { writeCurl } from "./curl.js";
import { writeGo } from "./go.js";
import { writeBufCurl, writeGrpcurl } from "./grpc.js";
import { writePython } from "./python.js";
import { writeTypeScript } from "./typescript.js";

/**
 * A language in which the reference shows each call.
 *
 * @typedef {object} SampleLanguage
 * @property {string} id
 * @property {string} label
 * @property {string} syntax The language for the highlighter.
 * @property {(call: import("./call.js").SampleCall) => string} write
 */

/**
 * The languages of the code samples, in the order of their tabs.
 *
 * @type {readonly SampleLanguage[]}
 */
export const sampleLanguages = [
  { id: "curl", label: "curl", syntax: "sh", write: writeCurl },
  { id: "typescript", label: "TypeScript", syntax: "ts", write: writeTypeScript },
  { id: "python", label: "Python", syntax: "py", write: writePython },
  { id: "go", label: "Go", syntax: "go", write: writeGo },
  { id: "grpcurl", label: "grpcurl", syntax: "sh", write: writeGrpcurl },
  { id: "buf-curl", label: "buf curl", syntax: "sh", write: writeBufCurl },
];
