/**
 * The limit of a list over `node:http`: the whole answer is ready before the first request.
 *
 *     node bench/contenders/ready-bytes.ts DB
 */
import { createServer } from "node:http";
import { announce } from "./peer/announce.ts";
import { limitHeaders } from "./peer/ready-answer.ts";
import { openTable } from "./peer/table.ts";

const body = Buffer.from(JSON.stringify(openTable(process.argv[2] ?? "").list()));
const headers = { "content-type": "application/json", "content-length": body.length, ...limitHeaders };

announce(createServer((_request, response) => response.writeHead(200, headers).end(body)));
