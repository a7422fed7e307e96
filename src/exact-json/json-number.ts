/** A number of a JSON text whose source a double could not give back. */
export class JsonNumber {
  /** As it stands in the text, such as `9223372036854775807` or `3.0`. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}
