import { DomainError, tooManyStreamsInAll } from "../domain/errors.ts";
import { clientNetwork } from "../http/client-address.ts";

/** How many streams a network may have open. Opening one costs as much as some ten calls. */
const maxStreamsOfNetwork = 64;

/** How many streams may be open in all. They take some 30 MB. */
const maxStreamsInAll = 1_024;

/** Whether a stream is admitted. */
interface StreamAdmission {
  /** Why it is refused; undefined where it is admitted. */
  readonly refusal: DomainError | undefined;
  /** Call it when the stream has ended. Further calls do nothing. */
  readonly leave: () => void;
}

/**
 * Counts the open streams without a key. Nothing else bounds them: they stay open for as long as the client likes.
 */
export class AnonymousStreams {
  readonly #byNetwork = new Map<string, number>();
  #inAll = 0;

  /** Admits one more stream, unless its network or the server has too many. */
  enter(address: string): StreamAdmission {
    const network = clientNetwork(address);
    const open = this.#byNetwork.get(network) ?? 0;
    if (open >= maxStreamsOfNetwork) {
      return notAdmitted(tooManyOfNetwork());
    }
    if (this.#inAll >= maxStreamsInAll) {
      return notAdmitted(tooManyStreamsInAll());
    }
    this.#byNetwork.set(network, open + 1);
    this.#inAll += 1;
    let isOpen = true;
    const leave = () => {
      if (isOpen) {
        isOpen = false;
        this.#leave(network);
      }
    };
    return { refusal: undefined, leave };
  }

  #leave(network: string): void {
    this.#inAll -= 1;
    const open = (this.#byNetwork.get(network) ?? 1) - 1;
    if (open === 0) {
      this.#byNetwork.delete(network);
    } else {
      this.#byNetwork.set(network, open);
    }
  }
}

function notAdmitted(refusal: DomainError): StreamAdmission {
  return { refusal, leave() {} };
}

/** A client has as many streams open as it may. */
function tooManyOfNetwork(): DomainError {
  return new DomainError("RATE_LIMIT_EXCEEDED", "Too many streams are open. Close those that are not needed.");
}
