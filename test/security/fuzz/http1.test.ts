import { rpcPath } from "../../support/operations.ts";
import { envelope } from "../../support/rpc-wire.ts";
import { fuzzBytes } from "./byte-cases.ts";
import { type Material, mutatedBytes } from "./mutate.ts";
import { headerTokens, jsonTokens, numberTokens, prototypeTokens, urlTokens } from "./tokens.ts";

const framingTokens = [
  [
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\r",
    "\0",
    ":",
    " ",
    "\t",
    "\x80",
    "\xff",
    " HTTP/1.1",
    " HTTP/1.0",
    " HTTP/2.0",
    " HTTP/9.9",
  ],
  ["Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding:\x0bchunked\r\n"],
  [
    "Content-Length: 0\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: -1\r\n",
    "Content-Length: 99999999999999999999\r\n",
  ],
  [
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "ffffffffffffffff\r\n",
    "5;a=b\r\n",
    "0\r\nTrailer: x\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\n",
  ],
  ["Connection: close\r\n", "Connection: upgrade\r\nUpgrade: h2c\r\n", "Expect: 100-continue\r\n", "Host: \r\n"],
  ["CONNECT ", "PATCH ", "GET ", "OPTIONS * ", "TRACE ", "Authorization: ", " folded\r\n"],
].flat();

/** Whole requests, by the key that they carry. */
function requests(key: string): string[] {
  const rest = [
    head("GET", "/v1/inventory?pageSize=2&status=sold", key),
    head("HEAD", "/v1/pets/7", key),
    head("OPTIONS", "/v1/inventory/7", key),
    head("GET", "http://x/v1/store/orders", key, "Accept-Encoding: gzip\r\nIf-None-Match: *\r\n"),
    sized("PATCH", "/v1/inventory/7", key, '{"quantity":5}'),
    sized("PATCH", "/v1/inventory/1", key, '{"quantity":-9223372036854775808}', "Expect: 100-continue\r\n"),
    chunked("PATCH", "/v1/inventory/2", key, ['{"quan', 'tity":3.0}']),
    head("GET", "/", key),
  ];
  const rpc = [
    sized("POST", rpcPath("updateInventory"), key, '{"petId":"3","update":{"quantity":"1"}}'),
    chunked("POST", rpcPath("getPet"), key, ["\x08\x07"], "Content-Type: application/proto\r\n"),
    sized(
      "POST",
      rpcPath("getPet"),
      key,
      envelope(Buffer.of(8, 7)).toString("latin1"),
      "Content-Type: application/grpc\r\n",
    ),
    sized(
      "POST",
      rpcPath("listOrders"),
      key,
      envelope(Buffer.alloc(0)).toString("latin1"),
      "Content-Type: application/grpc-web\r\n",
    ),
    head("GET", `${rpcPath("getPet")}?encoding=json&message=%7B%22petId%22%3A%227%22%7D&connect=v1`, key),
    sized("POST", "/grpc.health.v1.Health/Check", key, "{}"),
    sized("POST", "/grpc.health.v1.Health/Watch", key, "\0\0\0\0\x02{}", "Content-Type: application/connect+json\r\n"),
  ];
  return [...rest, ...rpc, rest.slice(0, 3).join(""), rpc.slice(0, 3).join("")];
}

function head(method: string, target: string, key: string, lines = ""): string {
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${lines}\r\n`;
}

function sized(method: string, target: string, key: string, body: string, lines = ""): string {
  return head(method, target, key, `${lines}Content-Length: ${body.length}\r\n`) + body;
}

function chunked(method: string, target: string, key: string, chunks: readonly string[], lines = ""): string {
  const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
  return `${head(method, target, key, `${lines}Transfer-Encoding: chunked\r\n`)}${body}0\r\n\r\n`;
}

const tokens = [
  ...framingTokens,
  ...framingTokens,
  ...headerTokens,
  ...jsonTokens,
  ...numberTokens,
  ...prototypeTokens,
  ...urlTokens,
];
const materials = new Map<string, Material>();

fuzzBytes("HTTP/1.1", { usual: 1_000, long: 14_000 }, (random, key) => {
  let material = materials.get(key);
  if (material === undefined) {
    material = { tokens, corpus: requests(key) };
    materials.set(key, material);
  }
  return mutatedBytes(random, material);
});
