/**
 * The limit of `node:http`: it answers with an update's bytes, and does nothing else.
 *
 *     node bench/contenders/bare-http.ts
 */
import { createServer } from "node:http";
import { announce } from "./peer/announce.ts";
import { limitHeaders } from "./peer/ready-answer.ts";

const body = Buffer.from('{"petId":1234567,"quantity":1000000000,"status":"available"}');
const headers = { "content-type": "application/json", "content-length": body.length, ...limitHeaders };

announce(createServer((_request, response) => response.writeHead(200, headers).end(body)));
