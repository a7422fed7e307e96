// @ts-check

/**
 * What stands between two empty lines of an event stream: an event, or a comment with an id.
 *
 * @typedef {object} EventBlock
 * @property {string} type `message` by default.
 * @property {string | undefined} id
 * @property {string | undefined} data Undefined for a comment.
 * @property {number | undefined} retryMs
 */

/**
 * Reads Server-Sent Events from text that comes in pieces. An event whose end has not come is none.
 *
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class EventParser {
  #rest = "";
  #isBegun = false;
  /** @type {Map<string, string>} */
  #fields = new Map();

  /**
   * The blocks that end in a further piece.
   *
   * @param {string} text
   * @returns {Generator<EventBlock>}
   */
  *read(text) {
    const lines = this.#endedLines(text);
    for (const line of lines) {
      if (line !== "") {
        this.#readField(line);
      } else if (this.#fields.size > 0) {
        yield this.#endBlock();
      }
    }
  }

  /**
   * The lines that have ended. A carriage return may be the first half of a line's end.
   *
   * @param {string} text
   */
  #endedLines(text) {
    const isFirst = !this.#isBegun && text !== "";
    this.#isBegun ||= isFirst;
    const whole = this.#rest + (isFirst ? text.replace(/^\uFEFF/, "") : text);
    const end = whole.endsWith("\r") ? whole.length - 1 : whole.length;
    const lines = whole.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + whole.slice(end);
    return lines;
  }

  /** @param {string} line */
  #readField(line) {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    const former = this.#fields.get(name);
    this.#fields.set(name, name === "data" && former !== undefined ? `${former}\n${value}` : value);
  }

  /** @returns {EventBlock} */
  #endBlock() {
    const fields = this.#fields;
    this.#fields = new Map();
    const id = fields.get("id");
    const retry = fields.get("retry") ?? "";
    return {
      type: fields.get("event") || "message",
      id: id?.includes("\0") ? undefined : id,
      data: fields.get("data"),
      retryMs: /^\d+$/.test(retry) ? Number(retry) : undefined,
    };
  }
}
