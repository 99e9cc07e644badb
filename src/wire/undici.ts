import { decompression, openAgent } from "#platform";
import { clock } from "../core/clock.js";
import type { Deadline, EndKind } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import type { AgentOptions, Dispatcher, UndiciAgent } from "../platform/undici-agent.js";
import { Body, type DecodedText, decodeText } from "./response.js";
import {
  type BrokenBody,
  reasonOf,
  type Transport,
  WireFailure,
  type WireRequest,
  type WireResponse,
} from "./transport.js";

/**
 * What is needed of an undici dispatcher, so that one of the caller's own copy of undici (7 or 8) fits: an `Agent`, a
 * `ProxyAgent`, a `MockAgent`.
 */
export interface DispatcherLike {
  dispatch(options: never, handler: never): boolean;
}

export function isDispatcher(value: unknown): value is DispatcherLike {
  return typeof Object(value).dispatch === "function";
}

export interface UndiciTransportOptions extends AgentOptions {
  /** Used instead of an agent of the client's own; closing it stays with its owner. */
  readonly dispatcher?: DispatcherLike | undefined;
}

/**
 * The transport over undici's `dispatch`.
 *
 * @param usedConnectionMs how long a read waits for the response of a used connection before it is sent on a new one.
 */
export function undiciTransport(options: UndiciTransportOptions, usedConnectionMs = 5000): Transport {
  let own: Promise<UndiciAgent> | undefined;
  let route: Route | undefined = options.dispatcher && {
    dispatcher: options.dispatcher as Route["dispatcher"],
    own: undefined,
    showsStart: Object(options.dispatcher).showsStart === true,
  };

  let firstByteMs = usedConnectionMs;
  const send = (to: Route, request: WireRequest, deadline: Deadline): Promise<WireResponse> => {
    const { own } = to;
    if (request.repeatable !== true || own === undefined) return exchange(to, request, deadline);
    const { reads } = own;
    return exchange(to, request, deadline, firstByteMs).catch(async (error: unknown) => {
      if (!(error instanceof WireFailure) || error.reason !== "UND_ERR_HEADERS_TIMEOUT") throw error;
      // The network may have dropped the connection silently, and all others of its age.
      own.replace(reads);
      const startMs = clock.monotonicMs();
      const response = await exchange(to, request, deadline);
      // If the service itself is slow, a new connection doesn't help.
      firstByteMs = Math.max(firstByteMs, 2 * (clock.monotonicMs() - startMs));
      return response;
    });
  };

  const open = async (): Promise<Route> => {
    if (route !== undefined) return route;
    own ??= openAgent(options).catch((error: unknown) => {
      own = undefined;
      throw error;
    });
    const agent = await own;
    route ??= { dispatcher: agent, own: agent, showsStart: true };
    return route;
  };

  return {
    get acceptEncoding() {
      return decompression?.accepted ?? "identity";
    },
    send(request, deadline) {
      if (route !== undefined) return send(route, request, deadline);
      return open().then((opened) => send(opened, request, deadline));
    },
    preload() {
      open().catch(() => {});
    },
    async close() {
      // An agent that could not be opened needs no closing.
      await (await own?.catch(() => undefined))?.close();
    },
  };
}

export interface Route {
  readonly dispatcher: Pick<Dispatcher, "dispatch">;
  /** Set if it is the client's own. */
  readonly own: UndiciAgent | undefined;
  /** Whether it certainly calls `onRequestStart` before it writes. The caller's own dispatcher may not. */
  readonly showsStart: boolean;
}

/**
 * Sends one request by a dispatcher. A used connection must respond within `firstByteMs`.
 *
 * Only `onRequestStart` tells whether a byte can have been written. Error codes don't: a reset in the TLS handshake and one
 * after the whole request look alike.
 */
export function exchange(
  route: Route,
  request: WireRequest,
  deadline: Deadline,
  firstByteMs = 0,
): Promise<WireResponse> {
  if (deadline.ended !== undefined) return Promise.reject(deadline.failure(false));
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(route, request, deadline, resolve, reject);
    try {
      route.dispatcher.dispatch(
        {
          origin: request.origin,
          path: request.path,
          method: request.method,
          headers: request.headers as Record<string, string>,
          body: request.body ?? null,
          ...(firstByteMs > 0 && { headersTimeout: firstByteMs }),
        },
        handler,
      );
    } catch (error) {
      handler.dispatchThrew(error);
    }
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #route: Route;
  readonly #deadline: Deadline;
  readonly #resolve: (response: WireResponse) => void;
  readonly #reject: (failure: Error) => void;
  readonly #stopListening: () => void;
  readonly #body: Body;
  #controller: Dispatcher.DispatchController | undefined;
  #hasStarted = false;
  #settled = false;
  #status = 0;
  #headers: Record<string, string> = {};

  constructor(
    route: Route,
    { maxResponseBytes }: WireRequest,
    deadline: Deadline,
    resolve: (response: WireResponse) => void,
    reject: (failure: Error) => void,
  ) {
    this.#route = route;
    this.#body = new Body(maxResponseBytes);
    this.#deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#stopListening = deadline.onEnd((kind) => this.#end(kind));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#hasStarted) this.#refuseSecondSending(controller);
    // The call ended while the request was queued. Throwing here leaves the socket as it is and writes nothing.
    if (this.#settled) throw refusal("the call has ended");
    try {
      this.#deadline.assertMaySend();
    } catch (error) {
      this.#fail(error as Error);
      throw refusal("the call has ended");
    }
    this.#controller = controller;
    this.#hasStarted = true;
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (this.#settled || status < 200) return;
    this.#status = status;
    this.#headers = flatHeaders(headers);
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#settled || this.#body.push(chunk)) return;
    this.#respond(noText, "too-large");
    this.#controller?.abort(refusal("the response is too large"));
  }

  onResponseEnd(): void {
    if (!this.#settled) this.#finish();
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (this.#settled) return;
    if (this.#status === 0) this.#break(error);
    else this.#finish("cut-short");
  }

  dispatchThrew(error: unknown): void {
    if (this.#route.own !== undefined) this.onResponseError(undefined, error);
    else if (!this.#settled) this.#fail(unusableDispatcher(error));
  }

  /** Whether a byte may have left. */
  get #isSent(): boolean {
    return this.#hasStarted || !this.#route.showsStart;
  }

  /** Some wrappers swallow what a handler throws, and some controllers don't end a socket, so it does both. */
  #refuseSecondSending(controller: Dispatcher.DispatchController): never {
    if (this.#status !== 0) this.onResponseError(controller, undefined);
    else this.#fail(new WireFailure({ sent: true, reason: "REPEATED_BY_DISPATCHER" }));
    const error = refusal("a request is sent once");
    controller.abort(error);
    throw error;
  }

  #end(kind: EndKind): void {
    if (this.#status === 0) this.#fail(this.#deadline.failure(this.#isSent));
    else this.#finish(kind);
    this.#controller?.abort(refusal("the call has ended"));
  }

  #finish(broken?: BrokenBody): void {
    const { "content-encoding": coding } = this.#headers;
    if (coding === undefined || coding === "identity") this.#respond(this.#body.text(), broken);
    else if (broken !== undefined) this.#respond(noText, broken);
    else this.#decompress(coding);
  }

  async #decompress(coding: string): Promise<void> {
    const { maxBytes } = this.#body;
    const body = (await decompression?.decode(this.#body.bytes(), coding.toLowerCase(), maxBytes)) ?? "encoded";
    if (this.#settled) return;
    if (typeof body === "string") this.#respond(noText, body);
    else this.#respond(decodeText(body));
  }

  #respond({ text, broken: undecoded }: DecodedText, broken: BrokenBody | undefined = undecoded): void {
    this.#settle();
    const how = broken === undefined ? undefined : { broken };
    this.#resolve({ status: this.#status, headers: this.#headers, text, ...how });
  }

  #break(error: unknown): void {
    const code = reasonOf(error);
    const sent = this.#isSent;
    // Nothing else aborts a request before it starts.
    if (!sent && code === "UND_ERR_ABORTED") {
      this.#fail(new WireFailure({ sent, permanent: true, reason: "PROXY_REFUSED", cause: error }));
    } else this.#fail(new WireFailure({ sent, permanent: !sent && isPermanent(code), reason: code }));
  }

  #fail(failure: Error): void {
    this.#settle();
    this.#reject(failure);
  }

  #settle(): void {
    this.#settled = true;
    this.#stopListening();
  }
}

const noText: DecodedText = { text: "" };

/** An error for the dispatcher, with a code that `interceptors.retry` doesn't retry. */
function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: "UND_ERR_ABORTED" });
}

/** Failures to connect that will be the same next time: certificates, TLS versions, something that speaks no TLS. */
function isPermanent(code: string): boolean {
  return /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_|HOSTNAME_|UND_ERR_INVALID_ARG|ERR_INVALID_)/.test(
    code,
  );
}

/** As one of undici 6 is. It may have sent the request before it threw. */
function unusableDispatcher(cause: unknown): ConfigError {
  const message = `the dispatcher option must be a dispatcher of undici 7 or 8; this one threw ${reasonOf(cause)}`;
  return new ConfigError(message, { effect: "possible" });
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}
