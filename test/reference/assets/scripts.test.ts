import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ErrorReasonSchema } from "../../../gen/petstore/v1/error_reason_pb.ts";
import { isSecret as isSecretOfService, mintSecret } from "../../../src/domain/key.ts";
import { faultOfAnswer } from "../../../src/reference/assets/answer/field-fault.js";
import { jsonLines } from "../../../src/reference/assets/answer/json-lines.js";
import { writeSize } from "../../../src/reference/assets/answer/size.js";
import { statusText } from "../../../src/reference/assets/answer/status-text.js";
import { ExactNumber, integerDigits, parseExactJson } from "../../../src/reference/assets/exact-json.js";
import { presentAnchor } from "../../../src/reference/assets/former-anchors.js";
import { isSecret } from "../../../src/reference/assets/key/key-secret.js";
import { describeWindows, parseWindows } from "../../../src/reference/assets/key/limits.js";
import { withAddress } from "../../../src/reference/assets/own-address.js";

function formatJson(text: string): string {
  return [...jsonLines(text)].join("\n");
}

describe("JSON as it is shown", () => {
  it("is indented as JSON.stringify does it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => formatJson(JSON.stringify(value)) === JSON.stringify(value, null, 2)),
    );
  });

  it("keeps the digits of integers", () => {
    expect(formatJson('[{"petId":9007199254740993},-9223372036854775808]')).toBe(
      '[\n  {\n    "petId": 9007199254740993\n  },\n  -9223372036854775808\n]',
    );
  });
});

describe("JSON as it is read", () => {
  it("is what JSON.parse makes of it, but for the numbers", () => {
    const plain = (value: unknown): unknown =>
      value instanceof ExactNumber
        ? Number(value.text)
        : Array.isArray(value)
          ? value.map(plain)
          : typeof value === "object" && value !== null
            ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
            : value;
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(plain(parseExactJson(text))).toEqual(plain(JSON.parse(text)));
      }),
    );
  });

  it("keeps the text of numbers, and leaves digits in strings alone", () => {
    expect(parseExactJson('{"a": 9007199254740993, "b": "1 \\" 2", "c": [-1.50e+3]}')).toEqual({
      a: new ExactNumber("9007199254740993"),
      b: '1 " 2',
      c: [new ExactNumber("-1.50e+3")],
    });
  });

  it.each(["", "01", "{1}", "[1,]", "1 2"])("is refused: %j", (text) => {
    expect(() => parseExactJson(text)).toThrow(SyntaxError);
  });
});

describe("an integer", () => {
  it.each([
    ["3", "3"],
    ["3.0", "3"],
    ["3e0", "3"],
    ["30e-1", "3"],
    ["-0", "-0"],
    ["0.00", "0"],
    ["9.223372036854775807e18", "9223372036854775807"],
    ["1e2", "100"],
    ["3.5", undefined],
    ["5e-1", undefined],
    ["1e999999999", undefined],
    ["seven", undefined],
    ["+1", undefined],
  ])("written %s is %s", (text, digits) => {
    expect(integerDigits(text)).toBe(digits);
  });
});

describe("a key that is entered", () => {
  it("is held to the checksum that the service holds it to", () => {
    for (let i = 0; i < 200; i++) {
      const secret = mintSecret(randomBytes);
      const mistyped = secret.slice(0, -1) + (secret.endsWith("a") ? "b" : "a");
      expect([isSecret(secret), isSecret(mistyped)]).toEqual([true, false]);
      expect(isSecretOfService(mistyped)).toBe(false);
    }
    fc.assert(fc.property(fc.string(), (text) => isSecret(text) === isSecretOfService(text)));
  });
});

describe("the windows of a key", () => {
  const headers = {
    "ratelimit-policy": '"minute";q=300;w=60, "day";q=10000;w=86400',
    ratelimit: '"minute";r=299;t=42, "day";r=9041;t=80000',
  };

  it("are told by the headers, and are whole again when they have ended", () => {
    const windows = parseWindows(headers, 1_000);
    expect(describeWindows(windows, 1_000)).toEqual(["299 of 300 left this minute", "9,041 of 10,000 left today"]);
    expect(describeWindows(windows, 43_000)).toEqual(["300 of 300 left this minute", "9,041 of 10,000 left today"]);
  });

  it("are unknown where no header tells of them", () => {
    expect(parseWindows({}, 0)).toBeUndefined();
  });
});

describe("the field that a refusal points to", () => {
  const operation = {
    parameters: [{ name: "petId" }, { name: "pageSize" }, { name: "pageToken" }],
    bodyField: "update",
    request: { update: { fields: { quantity: {} } } },
  };
  const refusal = (message: unknown, code = "INVALID_REQUEST", status = 400) => ({
    status,
    text: JSON.stringify({ code, message, status }),
  });

  it.each([
    ["pet_id: must be a 64-bit integer.", "petId", "Must be a 64-bit integer."],
    ["pageSize: must be positive.", "pageSize", "Must be positive."],
    ["quantity: value is required", "body", "quantity: value is required"],
    ["update.quantity: value is required", "body", "update.quantity: value is required"],
    ["The request body must be valid JSON.", "body", "The request body must be valid JSON."],
  ])("is found by its message: %s", (message, name, shown) => {
    expect(faultOfAnswer(refusal(message), operation)).toEqual({ name, message: shown });
  });

  it("is the token's, where the code says so", () => {
    expect(faultOfAnswer(refusal("No.", "INVALID_PAGE_TOKEN"), operation)?.name).toBe("pageToken");
  });

  it.each([
    ["another status", refusal("quantity: no", "X", 404)],
    ["another field", refusal("colour: no")],
    ["no text", refusal(5)],
    ["no JSON", { status: 400, text: "<h1>" }],
    ["a bad header", refusal("Host: must be one.")],
  ])("is none with %s", (_title, answer) => {
    expect(faultOfAnswer(answer, operation)).toBeUndefined();
  });
});

it.each([
  ["http://127.0.0.1", "http://127.0.0.1:8080", "curl http://127.0.0.1/v1/pets", "curl http://127.0.0.1:8080/v1/pets"],
  ["http://127.0.0.1", "http://127.0.0.1:8080", "127.0.0.1:80 petstore.v1", "127.0.0.1:8080 petstore.v1"],
  ["http://127.0.0.1", "http://127.0.0.1:8080", "http://127.0.0.1:8081, 127.0.0.1:8081", undefined],
  ["http://127.0.0.1:8080", "https://pets.example", "http://127.0.0.1:8080/v1", "https://pets.example/v1"],
  ["http://127.0.0.1:8080", "https://pets.example", "127.0.0.1:8080 list", "pets.example:443 list"],
  ["http://[::1]:8080", "http://localhost:8080", "'http://[::1]:8080'", "'http://localhost:8080'"],
  ["http://127.0.0.1:8080", "http://localhost:8080", "http://127.0.0.1:8080", "http://localhost:8080"],
  ["http://a.b:8080", "http://localhost:8080", "http://axb:8080", undefined],
])("code of a server at %s that is read at %s has the reader's address: %s", (own, read, text, shown) => {
  expect(withAddress(text, own, read)).toBe(shown ?? text);
});

it.each([
  ["#/PetService/getPet", "#get-pet"],
  ["#operations-tag-StoreService", "#operations"],
  ["#overview-where-it-is", "#overview"],
  ["#get-pet", undefined],
  ["#/PetService/getPet/x", undefined],
  ["#/%E0%A4%A/x", undefined],
  ["#constructor", undefined],
  ["", undefined],
])("the former anchor %s is %s now", (former, present) => {
  expect(presentAnchor(former)).toBe(present);
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 kB"],
  [2_850_000, "2.9 MB"],
])("%d bytes are %s", (bytes, text) => {
  expect(writeSize(bytes)).toBe(text);
});

it("names every status that the API answers", async () => {
  const { getOption } = await import("@bufbuild/protobuf");
  const { error_status } = await import("../../../gen/petstore/options/v1/error_status_pb.ts");
  const statuses = ErrorReasonSchema.values
    .filter(({ number }) => number !== 0)
    .map((value) => getOption(value, error_status).http);
  expect([200, 304, ...statuses].filter((status) => statusText(status) === "")).toEqual([]);
});
