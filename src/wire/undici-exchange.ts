import { decompression } from "#platform";
import type { Deadline, EndKind } from "../core/deadline.js";
import { describeThrown } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import type { Decoder } from "../platform/decompression.js";
import type { Dispatcher, UndiciAgent } from "../platform/undici-agent.js";
import { BodyChunks } from "./body-chunks.js";
import { parseContentCodings } from "./content-codings.js";
import { isPassingStatus } from "./status.js";
import type { BrokenBody, WireRequest, WireResponse } from "./transport.js";
import { isStatus, type ProxyRefusal, proxyRefusalOf, reasonOf, WireFailure } from "./wire-failure.js";

export interface Route {
  readonly dispatcher: Pick<Dispatcher, "dispatch">;
  /** Set where it is the client's own. */
  readonly own: UndiciAgent | undefined;
  /**
   * Whether it calls `onRequestStart`: not known before the first request is sent, false once a response came without. What such a
   * dispatcher does not tell is no sign of anything. One that hands requests on may show the start of reads and hide that of writes.
   */
  readonly showsStart: { read?: boolean; write?: boolean };
}

/**
 * Sends one request by a dispatcher, over a used connection only if that responds within `firstByteMs`. Its handler's `onRequestStart` is the one sure sign of whether a byte can have been written: error
 * codes are not, since a reset in the TLS handshake and one after the whole request look alike.
 */
export function exchange(
  route: Route,
  request: WireRequest,
  deadline: Deadline,
  firstByteMs = 0,
): Promise<WireResponse> {
  if (deadline.ended !== undefined) return Promise.reject(deadline.failure(false));
  // A view for this exchange only, since the handler marks it.
  const lentBody = route.own !== undefined ? undefined : request.body?.subarray();
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(route, request, lentBody, deadline, resolve, reject);
    try {
      route.dispatcher.dispatch(
        {
          origin: request.origin,
          path: request.path,
          method: request.method,
          headers: request.headers as Record<string, string>,
          body: lentBody ?? request.body ?? null,
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
  readonly #request: WireRequest;
  /** What the caller's dispatcher was given as the body. */
  readonly #lentBody: Uint8Array | undefined;
  readonly #deadline: Deadline;
  readonly #resolve: (response: WireResponse) => void;
  readonly #reject: (failure: Error) => void;
  readonly #stopListening: () => void;
  #controller: Pick<Dispatcher.DispatchController, "abort" | "pause" | "resume"> = noController;
  #hasStarted = false;
  #settled = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks = new BodyChunks();
  #decoder: Decoder | undefined;
  #encodedBytes = 0;
  /** Whether the decoder has come to the end of what is encoded. */
  #isDecoded = false;
  /** Whether the response is over, whole or not. */
  #isReceived = false;
  #brokeOff = false;

  constructor(
    route: Route,
    request: WireRequest,
    lentBody: Uint8Array | undefined,
    deadline: Deadline,
    resolve: (response: WireResponse) => void,
    reject: (failure: Error) => void,
  ) {
    this.#route = route;
    this.#request = request;
    this.#lentBody = lentBody;
    this.#deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#stopListening = deadline.onEnd((kind) => this.#end(kind));
  }

  onRequestStart(controller: Dispatcher.DispatchController | undefined): void {
    this.#route.showsStart[this.#kind] ??= true;
    if (this.#hasStarted) this.#refuseSecondSending(controller);
    // The call ended while the request was queued. Throwing here leaves the socket as it is and writes nothing.
    if (this.#settled) throw refusal("the call has ended");
    try {
      this.#deadline.assertMaySend();
    } catch (error) {
      this.#fail(error as Error);
      throw refusal("the call has ended");
    }
    this.#controller = controller ?? noController;
    this.#hasStarted = true;
    if (this.#lentBody !== undefined) markAsUsed(this.#lentBody);
  }

  onRequestUpgrade(_controller: unknown, _status: number, _headers: unknown, socket: { destroy(): void }): void {
    socket.destroy();
    this.#break("UNEXPECTED_UPGRADE");
  }

  onResponseStart(_controller: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (this.#settled || status < 200) return;
    if (this.#status !== 0) {
      // The first response broke off, and this is the one to a second sending.
      this.#cut("cut-short");
      return;
    }
    if (!this.#hasStarted) Object.assign(this.#route.showsStart, { read: false, write: false });
    this.#status = isStatus(status) ? status : 0;
    this.#headers = flatHeaders(headers);
    const codings = parseContentCodings(this.#headers["content-encoding"]);
    if (codings.length > 0) this.#decode(codings);
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#decoder === undefined) this.#take(chunk);
    else this.#takeEncoded(chunk, this.#decoder);
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#isReceived = true;
    if (this.#status === 0) this.#break("NO_STATUS");
    else if (this.#decoder === undefined || this.#isDecoded) this.#respond();
    else this.#decoder.end();
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (this.#settled) return;
    this.#isReceived = this.#brokeOff = true;
    const proxy = this.#hasStarted ? undefined : proxyRefusalOf(error, this.#route.dispatcher);
    const fault = this.#hasStarted || this.#route.own === undefined ? undefined : faultOfProcess(error);
    if (fault !== undefined) this.#fail(fault);
    else if (this.#isRefusedHandler(error)) this.#fail(oldDispatcher(error));
    else if (proxy !== undefined) this.#refuse(proxy);
    else if (this.#status === 0) this.#break(reasonOf(error));
    else if (this.#decoder === undefined || this.#isDecoded) this.#respond("cut-short");
    else this.#decoder.end();
  }

  /** Nothing can have left in the turn in which the dispatcher was called, unless it has started. */
  dispatchThrew(error: unknown): void {
    if (this.#hasStarted) this.onResponseError(undefined, error);
    else if (this.#isRefusedHandler(error) || reasonOf(error) === "TypeError") this.#fail(oldDispatcher(error));
    else this.#break(reasonOf(error), false);
  }

  /** A dispatcher of undici 5 or 6 refuses a handler of undici 7, or calls methods that it doesn't have: a TypeError. */
  #isRefusedHandler(error: unknown): boolean {
    return this.#route.own === undefined && !this.#hasStarted && reasonOf(error) === "UND_ERR_INVALID_ARG";
  }

  #take(chunk: Uint8Array): void {
    if (this.#chunks.bytes + chunk.length > this.#request.maxResponseBytes) this.#cut("too-large");
    else this.#chunks.push(chunk);
  }

  #takeEncoded(chunk: Uint8Array, decoder: Decoder): void {
    this.#encodedBytes += chunk.length;
    if (this.#encodedBytes > this.#maxEncodedBytes) this.#cut("too-large");
    else if (!this.#isDecoded && !decoder.write(chunk)) this.#controller.pause();
  }

  #decode(codings: readonly string[]): void {
    const open = codings.length <= mostCodings ? decompression?.open : undefined;
    this.#decoder = open?.(codings, this.#maxEncodedBytes, {
      onData: (chunk) => this.#take(chunk),
      onDrain: () => this.#controller.resume(),
      onEnd: () => this.#decoded(),
      onError: (problem) => this.#cut(this.#brokeOff ? "cut-short" : problem),
    });
    if (this.#decoder === undefined) this.#cut("encoded");
  }

  /** What is encoded can end before its response does, which then still has the connection, and may have it for ever. */
  #decoded(): void {
    this.#isDecoded = true;
    if (this.#isReceived) this.#respond(this.#brokeOff ? "cut-short" : undefined);
    else this.#controller.resume();
  }

  /** Whether a byte may have left. Before a dispatcher has shown a start, only what fails to connect is certain. */
  #isSent(reason = ""): boolean {
    const showsStart = this.#route.showsStart[this.#kind];
    if (this.#hasStarted || showsStart === false) return true;
    return showsStart === undefined && !failsToConnect(reason);
  }

  get #kind(): "read" | "write" {
    return this.#request.method === "GET" ? "read" : "write";
  }

  /** Encoded bytes are not what `maxResponseBytes` counts, but without a limit they could come for ever and mean nothing. */
  get #maxEncodedBytes(): number {
    return 2 * this.#request.maxResponseBytes + 1024;
  }

  /** Some wrappers of a handler swallow what it throws, and some controllers are not those of a socket: so both are used. */
  #refuseSecondSending(controller: Dispatcher.DispatchController | undefined): never {
    if (!this.#settled && this.#status !== 0) this.#respond("cut-short");
    else this.#break("REPEATED_BY_DISPATCHER");
    const error = refusal("a request is sent once");
    controller?.abort(error);
    throw error;
  }

  #end(kind: EndKind): void {
    if (this.#status === 0) this.#fail(this.#deadline.failure(this.#isSent()));
    else this.#respond(kind);
    this.#controller.abort(refusal("the call has ended"));
  }

  #cut(broken: BrokenBody): void {
    this.#respond(broken);
    this.#controller.abort(refusal("the response can't be used"));
  }

  #respond(broken?: BrokenBody): void {
    this.#settle();
    const { text, broken: undecoded } = this.#chunks.decode();
    const problem = broken ?? undecoded;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      text,
      ...(problem === undefined ? undefined : { broken: problem }),
    });
  }

  #break(reason: string, sent = this.#isSent(reason)): void {
    this.#fail(new WireFailure({ sent, permanent: !sent && isPermanent(reason), reason }));
  }

  /** Without a tunnel nothing can have been sent. Passing statuses are those of HTTP. */
  #refuse(proxy: ProxyRefusal): void {
    const { status } = proxy;
    const permanent = status >= 400 && !isPassingStatus(status);
    this.#fail(new WireFailure({ sent: false, permanent, reason: `PROXY_RESPONSE_${status}`, proxy }));
  }

  #fail(failure: Error): void {
    this.#settle();
    this.#reject(failure);
  }

  #settle(): void {
    this.#settled = true;
    this.#stopListening();
    this.#decoder?.destroy();
  }
}

/** Some dispatchers show no start, or give no controller with it. */
const noController = { abort() {}, pause() {}, resume() {} };

/** More codings than anybody applies; each costs memory. */
const mostCodings = 4;

/** An error for the dispatcher. Its code is one that `interceptors.retry` does not retry. */
function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: "UND_ERR_ABORTED" });
}

/**
 * Makes a body count as read, which is how undici's interceptors know that a request can't be repeated. Without it
 * `interceptors.retry` sends a request again whose response broke off, and does not tell its handler.
 */
function markAsUsed(body: Uint8Array): void {
  (body as { [disturbed]?: true })[disturbed] = true;
}

const disturbed = Symbol.for("nodejs.stream.disturbed");

/** Whether it is a code that only a connection that was not made has. */
function failsToConnect(reason: string): boolean {
  return /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|PROXY_CLOSED|(?:CERT_|EPROTO|ERR_SSL_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|UND_ERR_INVALID_ARG|ERR_INVALID_)[\w/]*)$/.test(
    reason,
  );
}

/** Failures to connect that will be the same next time: certificates, TLS versions, something that speaks no TLS. */
function isPermanent(reason: string): boolean {
  return /^(CERT_|ERR_TLS_|ERR_SSL_|EPROTO|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_|HOSTNAME_|UND_ERR_INVALID_ARG|ERR_INVALID_)/.test(
    reason,
  );
}

function oldDispatcher(cause: unknown): ConfigError {
  const message = "the dispatcher option must be a dispatcher of undici 7 or 8; this one can't send the request";
  return new ConfigError(`${message} (${reasonOf(cause)}), so nothing was sent`, { cause });
}

/** Where it is this process that can make no connection, or none by undici: no server is in the way, and another try can't help. */
function faultOfProcess(error: unknown): ConfigError | undefined {
  const reason = reasonOf(error);
  if (!ofThisProcess.test(reason)) return undefined;
  const cause = describeThrown(error);
  // Where a file of undici's may not be read, it says so.
  const isOfNetwork = reason === "ERR_ACCESS_DENIED" && !/^FileSystem/.test(String(Object(error).permission));
  const message = isOfNetwork
    ? `this process may make no connections (${reason}: ${cause.message}), so this attempt sent nothing; start Node with --allow-net`
    : `the package undici does not work in this process (${reason}: ${cause.message}), so this attempt sent nothing; is it installed completely, may its files be read, and is there WebAssembly?`;
  return new ConfigError(message, { cause });
}

const ofThisProcess =
  /^(?:ERR_ACCESS_DENIED|ERR_REQUIRE_ESM|(?:ERR_)?MODULE_NOT_FOUND|(?:Reference|Syntax|Compile|Link)Error)$/;

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}
