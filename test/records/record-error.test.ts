import { describe, expect, it } from "vitest";
import { describeJson, quote } from "../../src/records/record-error.ts";

describe("a text in quotes", () => {
  it.each<[what: string, text: string, quoted: string]>([
    ["shows visible characters", "Zoë's 猫", '"Zoë\'s 猫"'],
    ["moves no cursor", "\u001b[2J\u009b2J\u007f", String.raw`"\u001b[2J\u009b2J\u007f"`],
    ["is one line", "a\nb\u2028c\u2029d\u0085", String.raw`"a\nb\u2028c\u2029d\u0085"`],
    ["changes the direction of no text", "a\u202eb\u2066c\u200fd\u061ce", String.raw`"a\u202eb\u2066c\u200fd\u061ce"`],
    ["hides nothing", "a\u00adb\u200bc\ufeffd\u{e0041}e", String.raw`"a\u00adb\u200bc\ufeffd\udb40\udc41e"`],
    ["is cut when it is long", "x".repeat(61), `"${"x".repeat(60)}…"`],
  ])("%s", (_what, text, quoted) => {
    expect(quote(text)).toBe(quoted);
    expect(describeJson(text)).toBe(quoted);
  });
});
