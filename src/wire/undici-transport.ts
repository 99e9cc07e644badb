import { openAgent } from "#platform";
import type { AgentOptions, Dispatcher, OpenedAgent } from "../platform/undici-agent.js";
import type { Deadline, EndKind } from "../timing/deadline.js";
import { decodeBody } from "./decode-body.js";
import type { BrokenBody, Transport, WireRequest, WireResponse } from "./transport.js";
import { reasonOf, WireFailure } from "./wire-failure.js";

/**
 * What is needed of an undici dispatcher, so that one of the caller's own copy of undici (7 or 8) fits: an `Agent`, a
 * `ProxyAgent`, a `MockAgent`.
 */
export interface DispatcherLike {
  dispatch(options: never, handler: never): boolean;
}

export interface UndiciTransportOptions extends AgentOptions {
  /** Used instead of an agent of the client's own; closing it stays with its owner. */
  readonly dispatcher?: DispatcherLike | undefined;
}

/**
 * The transport over undici's `dispatch`. Its handler's `onRequestStart` is the one sure sign of whether a byte can have been
 * written: error codes are not, since a reset in the TLS handshake and one after the whole request look alike.
 */
export function undiciTransport(options: UndiciTransportOptions): Transport {
  let own: Promise<OpenedAgent> | undefined;
  let dispatcher = options.dispatcher as Pick<Dispatcher, "dispatch"> | undefined;

  const open = async (): Promise<OpenedAgent> => {
    try {
      const agent = await openAgent(options);
      dispatcher = agent;
      return agent;
    } catch {
      throw new WireFailure({ sent: false, reason: "UNDICI_NOT_LOADED" });
    }
  };

  return {
    send(request, deadline) {
      if (dispatcher !== undefined) return exchange(dispatcher, request, deadline);
      own ??= open();
      return own.then((agent) => exchange(agent, request, deadline));
    },
    preload() {
      if (dispatcher !== undefined) return;
      own ??= open();
      own.catch(() => {});
    },
    async close() {
      // An agent that could not be opened needs no closing.
      await (await own?.catch(() => undefined))?.close();
    },
  };
}

function exchange(
  dispatcher: Pick<Dispatcher, "dispatch">,
  request: WireRequest,
  deadline: Deadline,
): Promise<WireResponse> {
  if (deadline.ended !== undefined) return Promise.reject(deadline.failure(false));
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(request, deadline, resolve, reject);
    try {
      dispatcher.dispatch(
        {
          origin: request.origin,
          path: request.path,
          method: request.method,
          headers: request.headers as Record<string, string>,
          body: request.body ?? null,
        },
        handler,
      );
    } catch (error) {
      handler.onResponseError(undefined, error);
    }
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #request: WireRequest;
  readonly #deadline: Deadline;
  readonly #resolve: (response: WireResponse) => void;
  readonly #reject: (failure: Error) => void;
  readonly #stopListening: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    request: WireRequest,
    deadline: Deadline,
    resolve: (response: WireResponse) => void,
    reject: (failure: Error) => void,
  ) {
    this.#request = request;
    this.#deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#stopListening = deadline.onEnd((kind) => this.#end(kind));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The call ended while the request was queued. Throwing here leaves the socket as it is and writes nothing.
    if (this.#settled) throw new Error("the call has ended");
    try {
      this.#deadline.assertMaySend();
    } catch (error) {
      this.#fail(error as Error);
      throw error;
    }
    this.#controller = controller;
  }

  onRequestUpgrade(_controller: unknown, _status: number, _headers: unknown, socket: { destroy(): void }): void {
    socket.destroy();
    this.#break("UNEXPECTED_UPGRADE");
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (this.#settled || status < 200) return;
    this.#status = status;
    this.#headers = flatHeaders(headers);
    const encoding = this.#headers["content-encoding"];
    if (encoding !== undefined && encoding !== "identity") this.#cut("encoded");
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#settled) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#request.maxResponseBytes) this.#cut("too-large");
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    if (this.#status === 0) this.#break("NO_STATUS");
    else this.#respond();
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (this.#settled) return;
    if (this.#status === 0) this.#break(reasonOf(error));
    else this.#respond("cut-short");
  }

  #end(kind: EndKind): void {
    if (this.#settled) return;
    if (this.#status === 0) this.#fail(this.#deadline.failure(this.#controller !== undefined));
    else this.#respond(kind);
    this.#controller?.abort(new Error("the call has ended"));
  }

  #cut(broken: BrokenBody): void {
    this.#respond(broken);
    this.#controller?.abort(new Error("the response can't be used"));
  }

  #respond(broken?: BrokenBody): void {
    this.#settle();
    const { text, broken: undecoded } = decodeBody(this.#chunks);
    const problem = broken ?? undecoded;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      text,
      ...(problem === undefined ? undefined : { broken: problem }),
    });
  }

  #break(reason: string): void {
    const sent = this.#controller !== undefined;
    this.#fail(new WireFailure({ sent, permanent: !sent && isPermanent(reason), reason }));
  }

  #fail(failure: Error): void {
    if (this.#settled) return;
    this.#settle();
    this.#reject(failure);
  }

  #settle(): void {
    this.#settled = true;
    this.#stopListening();
  }
}

/** Failures to connect that will be the same next time: certificates, TLS versions, something that speaks no TLS. */
function isPermanent(reason: string): boolean {
  return /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_|HOSTNAME_|UND_ERR_INVALID_ARG|ERR_INVALID_)/.test(
    reason,
  );
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}
