/** Integers at the boundaries of their types, and what nearly is one. */
export const numberTokens: readonly string[] = [
  ["0", "-0", "1", "-1", "+1", "01", "3.0", "3e0", "30e-1", "3.5", "1e400", "-1e400", "1e-400", "1e999999999"],
  ["2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "9007199254740993"],
  ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"],
  ["18446744073709551615", "18446744073709551616", "9.223372036854775807e18", "0x10", "1_000", "NaN", "Infinity"],
].flat();

/** Characters that are nothing, or more than they seem. */
export const unicodeTokens: readonly string[] = [
  ["\0", "\x7f", "\x80", "\xa0", "\xff", "\ud800", "\udfff", "\ud83d\udc15", "\ufeff", "\ufffd", "\uffff"],
  ["\u2028", "\u2029", "\u202e", "\u0085", "e\u0301", "\u212a", "\u0131", "\u017f", "\uff11", "\u{10ffff}"],
].flat();

/** Names that objects of JavaScript have by themselves. */
export const prototypeTokens: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
];

/** What means something in a URL. */
export const urlTokens: readonly string[] = [
  ["/", "//", "/.", "/..", "\\", ":", "?", "#", "&", "&&", "=", "+", "%", "%%", "%2", "%2f", "%2F", "%2e", "%37"],
  ["%00", "%0d%0a", "%ff", "%c3%a9", "%c0%af", "%ed%a0%80", "%F0%9F%90%95", "@", "*", "**", "~", "[", "]", "http://"],
].flat();

/** What means something in JSON. */
export const jsonTokens: readonly string[] = [
  ["{", "}", "[", "]", "[[", "]]", '{"', '":', ",", ":", '"', "\\", "\\u", "\\ud800", "\\udc15", "\\u0000", "\\n"],
  ["null", "true", "false", "{}", "[]", '""', " ", "\n", "\t", "'", "/", "//", "\\/", "e", "E", ".", "-"],
].flat();

/** What means something in the headers of HTTP. */
export const headerTokens: readonly string[] = [
  [",", ", ", ";", "; ", "=", '"', "*", "q=", ";q=0", ";q=1.000", ";q=0.0001", ";q=-1", "W/", " ", "\t", "  ", "()"],
  ["gzip", "br", "identity", "x-gzip", "deflate", "utf-8", "charset=", "application/", "+json", "+proto", "Bearer "],
].flat();

/** What means something in bytes: lengths and numbers at boundaries, varints, beginnings of gzip. */
export const byteTokens: readonly string[] = [
  ["\0", "\x01", "\x7f", "\x80", "\xff", "\xff\xff", "\x7f\xff\xff\xff", "\x80\0\0\0", "\xff\xff\xff\xff", "\0\0\0\0"],
  ["\x80\x01", "\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80".repeat(10), "\x0b", "\x0c"],
  ["\x1f\x8b\x08", "\0\0\0\0\0", "\x01\0\0\0\x01", "\x80\0\0\0\0", "\x02\0\0\0\x02{}"],
].flat();
