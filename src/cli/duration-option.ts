import { Option } from "commander";
import { argument } from "./argument.ts";
import { durationForm, parseDuration } from "./duration.ts";

/** A flag that takes a duration, which it gives in milliseconds. */
export function durationOption(flags: string, description: string, byDefault: string): Option {
  const parse = argument(parseDuration, durationForm);
  return new Option(flags, description).argParser(parse).default(parse(byDefault), byDefault);
}
