/** The formats that files of records can have. */
export const fileFormats = ["csv", "json", "jsonl"] as const;

export type FileFormat = (typeof fileFormats)[number];

const byExtension: Partial<Record<string, FileFormat>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
};

/** The format that a file's extension stands for, such as `.csv`, in either case. Undefined for any other. */
export function fileFormatFromExtension(extension: string): FileFormat | undefined {
  return byExtension[extension.toLowerCase()];
}
