import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { openSocket } from "../support/raw.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
});

afterEach(() => expectUnharmed(server, key));

afterAll(() => server?.stop());

/** What an attacker wants taken for a request of its own, which the proxy in front has seen as a part of another. */
const smuggled = "GET /v1/limits HTTP/1.1\r\nHost: x\r\n\r\n";
const hidden = `0\r\n\r\n${smuggled}`;
const body = `{}${smuggled}`;

/** An update without a key; of which the head is all that is read. */
function request(lines: string, rest: string, first = "PATCH /v1/inventory/7 HTTP/1.1"): string {
  return `${first}\r\nHost: x\r\n${lines}\r\n\r\n${rest}`;
}

const chunked = (rest: string) => request("Transfer-Encoding: chunked", rest);

/** The statuses of all answers to these bytes, and whether the server has closed the connection. */
async function answersTo(bytes: string): Promise<{ statuses: number[]; isClosed: boolean }> {
  const socket = openSocket(server).on("error", () => {});
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString("latin1");
  });
  socket.write(bytes, "latin1");
  await until(async () => socket.closed || isWhole(received), 5_000);
  // Whatever else would be answered has been by then: requests of one connection are answered in turn.
  await until(async () => socket.closed || (await isSettled(() => received.length)), 5_000);
  const isClosed = socket.closed;
  socket.destroy();
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
  return { statuses, isClosed };
}

function isWhole(received: string): boolean {
  const end = received.indexOf("\r\n\r\n");
  const length = /^content-length: (\d+)/im.exec(received.slice(0, end))?.[1];
  return end >= 0 && received.length >= end + 4 + Number(length ?? 0);
}

/** Whether no more has come while others were answered. */
async function isSettled(size: () => number): Promise<boolean> {
  const before = size();
  await expectUnharmed(server, key);
  return size() === before;
}

describe("a request whose end could be taken for two places", () => {
  it.each<[title: string, bytes: string]>([
    ["both a length and chunks", request(`Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked`, hidden)],
    ["both chunks and a length", request("Transfer-Encoding: chunked\r\nContent-Length: 4", hidden)],
    ["the same length twice", request("Content-Length: 2\r\nContent-Length: 2", body)],
    ["two lengths", request(`Content-Length: 2\r\nContent-Length: ${body.length}`, body)],
    ["a list of lengths", request("Content-Length: 2, 2", body)],
    ["a length and a comma", request("Content-Length: 2,", body)],
    ["a length after a space that is none", request("Content-Length:\xa02", body)],
    ["a length with a plus", request("Content-Length: +2", body)],
    ["a length below zero", request("Content-Length: -2", body)],
    ["a length in hexadecimal", request("Content-Length: 0x2", body)],
    ["a length with a gap", request("Content-Length: 2 2", body)],
    ["a length with an underscore", request("Content-Length: 1_0", body)],
    ["a length past 64 bits", request("Content-Length: 18446744073709551618", body)],
    ["no length where one is named", request("Content-Length: ", smuggled)],
    ["a folded length", request("Content-Length:\r\n 2", body)],
    ["a blank before the length's colon", request("Content-Length : 2", body)],
    ["a blank before the length's name", request(" Content-Length: 2", body)],
    ["a blank before the coding's colon", request("Transfer-Encoding : chunked", hidden)],
    ["a coding that does not exist", request("Transfer-Encoding: xchunked", hidden)],
    ["chunks, and then identity", request("Transfer-Encoding: chunked, identity", hidden)],
    ["another coding, and then chunks", request("Transfer-Encoding: gzip, chunked", hidden)],
    ["identity, and then chunks", request("Transfer-Encoding: identity, chunked", hidden)],
    ["identity alone", request("Transfer-Encoding: identity", hidden)],
    ["chunks twice", request("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", hidden)],
    ["chunks and identity, on lines", request("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", hidden)],
    ["chunks in quotation marks", request('Transfer-Encoding: "chunked"', hidden)],
    ["chunks with a parameter", request("Transfer-Encoding: chunked;q=1", hidden)],
    ["a vertical tab before chunks", request("Transfer-Encoding: \x0bchunked", hidden)],
    ["a blank after chunks", request("Transfer-Encoding: chunked \t", hidden)],
    ["NUL after chunks", request("Transfer-Encoding: chunked\0", hidden)],
    ["a folded coding", request("Transfer-Encoding:\r\n chunked", hidden)],
    ["no coding where one is named", request("Transfer-Encoding: ", hidden)],
    ["chunks in HTTP/1.0", request("Transfer-Encoding: chunked", hidden, "PATCH /v1/inventory/7 HTTP/1.0")],
    ["a folded header", request("X: a\r\n b", smuggled)],
    ["bare line feeds", `PATCH /v1/inventory/7 HTTP/1.1\nHost: x\nContent-Length: 0\n\n${smuggled}`],
    ["a bare line feed after a header", `GET /v1/limits HTTP/1.1\r\nHost: x\nContent-Length: 2\r\n\r\n${body}`],
    ["a bare line feed after the head", `GET /v1/limits HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\n${smuggled}`],
    ["a bare carriage return in a header", request("X: a\rContent-Length: 2", body)],
    ["a bare carriage return after a header", request("Content-Length: 0\r", smuggled)],
    ["a header without a colon", request("Foo", smuggled)],
    ["a header without a name", request(": x", smuggled)],
    ["NUL in a header's name", request("F\0oo: x", smuggled)],
    ["NUL in a header's value", request("Foo: a\0b", smuggled)],
    ["a line feed in a chunk's extension", chunked(`2;a\n{}\r\n${hidden}`)],
    ["a line feed after a chunk's size", chunked(`2\n{}\r\n${hidden}`)],
    ["a line feed after a chunk", chunked(`2\r\n{}\n${hidden}`)],
    ["line feeds after the last chunk", chunked(`2\r\n{}\r\n0\n\n${smuggled}`)],
    ["a chunk's size past 64 bits", chunked(`10000000000000002\r\n{}\r\n${hidden}`)],
    ["a chunk's size with 0x", chunked(`0x2\r\n{}\r\n${hidden}`)],
    ["a chunk's size below zero", chunked(`-2\r\n{}\r\n${hidden}`)],
    ["a blank after a chunk's size", chunked(`2 \r\n{}\r\n${hidden}`)],
    ["a chunk without a size", chunked(`\r\n{}\r\n${hidden}`)],
    ["a chunk that is longer than its size", chunked(`2\r\n{}}\r\n${hidden}`)],
    ["a length after the chunks", chunked(`2\r\n{}\r\n0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`)],
    ["a coding after the chunks", chunked(`2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n${smuggled}`)],
    ["a blank before the method", ` ${smuggled}${smuggled}`],
    ["tabs in the first line", `GET\t/docs\tHTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`],
    ["a line feed in the target", `GET /do\ncs HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`],
    ["NUL in the target", `GET /do\0cs HTTP/1.1\r\nHost: x\r\n\r\n${smuggled}`],
    ["a version that does not exist", `GET /v1/limits HTTP/1.2\r\nHost: x\r\n\r\n${smuggled}`],
    ["a version in lower case", `GET /docs http/1.1\r\nHost: x\r\n\r\n${smuggled}`],
  ])("is 400, and the last of its connection: %s", async (_title, bytes) => {
    expect(await answersTo(bytes)).toEqual({ statuses: [400], isClosed: true });
  });
});

describe("a request whose end is where RFC 9112 has it", () => {
  const plain = { statuses: [401, 401], isClosed: false };
  const swallowed = { statuses: [401], isClosed: false };

  it.each<[title: string, bytes: string, answers: typeof plain]>([
    ["of chunks", chunked(hidden), plain],
    ["of chunks with an extension", chunked(`2;a=b\r\n{}\r\n${hidden}`), plain],
    ["of chunks, in upper case", request("Transfer-Encoding: CHUNKED", hidden), plain],
    ["of chunks, after a tab", request("Transfer-Encoding:\tchunked", hidden), plain],
    ["of chunks, by a method that has no use for them", chunked(hidden).replace("PATCH", "GET"), plain],
    ["that wants another protocol", request("Connection: Upgrade\r\nUpgrade: h2c", smuggled), plain],
    ["of a length that holds another", request(`Content-Length: ${smuggled.length}`, smuggled), swallowed],
    ["after empty lines", `\r\n\r\n${request("Content-Length: 2", body)}`, plain],
  ])("is followed by the next: %s", async (_title, bytes, answers) => {
    expect(await answersTo(bytes)).toEqual(answers);
  });
});
