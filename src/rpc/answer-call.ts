import type { ConnectError } from "@connectrpc/connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { Call, type CallHead, type CallResponse } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

/** A call as its protocol reads and answers it. */
export interface ProtocolCall extends CallHead {
  /** Makes the answer with a response. `header` is the answer's own. */
  answer(response: CallResponse, header: HeaderList): Promise<Answer>;
  /** Makes the answer with an error and its metadata. `header` and `trailer` are what the call has set before. */
  fail(error: ConnectError, header: HeaderList, trailer: Headers): Promise<Answer>;
}

/** Converts any failure of an exchange to the error that clients see, and notes it. */
export type ToError = (reason: unknown, exchange: Exchange) => ConnectError;

/** The one way of every call over every protocol, and the one place where its errors become what clients see. */
export async function answerCall(endpoint: Endpoint, protocol: ProtocolCall, toError: ToError): Promise<Answer> {
  const { exchange } = protocol;
  const call = new Call(endpoint.method as Call["method"], protocol);
  exchange.record.protocol = protocol.protocolName;
  exchange.record.method = endpoint.name;
  let header = call.responseHeader;
  try {
    const response = await endpoint.handle(call);
    header = response.header;
    if (response.stream) {
      exchange.record.isStream = true;
    } else {
      call.signals.deadline?.end();
    }
    return await protocol.answer(response, joined(header, call.answerHeader));
  } catch (reason) {
    call.signals.deadline?.end();
    const error = toError(reason, exchange);
    return await protocol.fail(error, joined(header, call.answerHeader), call.responseTrailer);
  }
}

/** A new list: an interceptor may give the same headers to several calls. */
function joined(...lists: readonly Headers[]): HeaderList {
  const header = new HeaderList();
  for (const list of lists) {
    header.appendAll(list);
  }
  return header;
}
