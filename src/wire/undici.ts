import { decompress, openAgent } from "#platform";
import { clock } from "../core/clock.js";
import type { Deadline } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import { hasMethods } from "../core/parse.js";
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
 * An undici dispatcher, such as an `Agent`, a `ProxyAgent`, or a `MockAgent`. It may be one of the caller's own copy of undici
 * (7 or 8).
 */
export interface DispatcherLike {
  dispatch(options: never, handler: never): boolean;
}

export function isDispatcher(value: unknown): value is DispatcherLike {
  return hasMethods(value, "dispatch");
}

export interface UndiciTransportOptions extends AgentOptions {
  /** Used instead of an agent of the client's own. Its owner must close it. */
  readonly dispatcher?: DispatcherLike | undefined;
}

/**
 * The transport over undici's `dispatch`.
 *
 * @param firstByteMs how long a read waits for its response before it is sent on a new connection, if there was none for so long.
 */
export function undiciTransport(options: UndiciTransportOptions, firstByteMs = 5000): Transport {
  const given = options.dispatcher as Exchanger | undefined;
  let opening: Promise<UndiciAgent> | undefined;
  let limitMs = firstByteMs;
  let answeredAtMs = Number.NEGATIVE_INFINITY;

  const open = (): Promise<UndiciAgent> => {
    opening ??= openAgent(options).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  const send = async (request: WireRequest, deadline: Deadline): Promise<WireResponse> => {
    const to = await open();
    if (request.repeatable !== true) return exchange(to, request, deadline);
    const { reads } = to;
    const startMs = clock.monotonicMs();
    // While responses arrive, the network is there, and undici needs no timer for each request.
    const isQuiet = startMs - answeredAtMs > firstByteMs;
    try {
      const response = await exchange(to, request, deadline, isQuiet ? limitMs : 0);
      answeredAtMs = startMs;
      return response;
    } catch (error) {
      if (!(error instanceof WireFailure) || error.reason !== "UND_ERR_HEADERS_TIMEOUT") throw error;
    }
    // The network may have dropped the connection silently, and all others of its age.
    to.replace(reads);
    const response = await exchange(to, request, deadline);
    // If the service itself is slow, a new connection doesn't help.
    limitMs = Math.max(limitMs, 2 * (clock.monotonicMs() - startMs));
    return response;
  };

  return {
    acceptEncoding: decompress === undefined ? "identity" : "gzip, br",
    send(request, deadline) {
      return given === undefined ? send(request, deadline) : exchange(given, request, deadline);
    },
    preload() {
      if (given === undefined) open().catch(() => {});
    },
    async close() {
      // An agent that could not be opened needs no closing.
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** What sends a request. */
export interface Exchanger extends Pick<Dispatcher, "dispatch"> {
  /** Whether it certainly calls `onRequestStart` before it writes. The caller's own dispatcher may not. */
  readonly showsStart?: boolean;
}

/**
 * Sends one request by a dispatcher. The response must begin within `firstByteMs`, if that isn't 0.
 *
 * Only `onRequestStart` tells whether a byte can have been written. Error codes don't, since a reset in the TLS handshake and one
 * after the whole request look alike.
 */
export function exchange(
  dispatcher: Exchanger,
  request: WireRequest,
  deadline: Deadline,
  firstByteMs = 0,
): Promise<WireResponse> {
  if (deadline.ended !== undefined) return Promise.reject(deadline.failure(false));
  return new Promise((resolve, reject) => {
    const body = new Body(request.maxResponseBytes);
    let hasStarted = false;
    let controller: Dispatcher.DispatchController | undefined;
    let isSettled = false;
    let status = 0;
    let headers: Record<string, string> = {};

    const stopListening = deadline.onEnd((kind) => {
      if (status === 0) fail(deadline.failure(isSent()));
      else finish(kind);
      controller?.abort(refusal("the call has ended"));
    });
    const settle = () => {
      isSettled = true;
      stopListening();
    };
    const fail = (failure: Error) => {
      settle();
      reject(failure);
    };
    const respond = ({ text, broken: undecoded }: DecodedText, broken = undecoded) => {
      if (isSettled) return;
      settle();
      resolve(broken === undefined ? { status, headers, text } : { status, headers, text, broken });
    };
    const finish = (broken?: BrokenBody) => {
      const coding = headers["content-encoding"] ?? "identity";
      if (coding === "identity") respond(body.text(), broken);
      else if (broken !== undefined) respond({ text: "", broken });
      else void decode(body, coding.toLowerCase()).then((decoded) => respond(decoded));
    };
    /** Whether a byte may have left. */
    const isSent = () => hasStarted || dispatcher.showsStart !== true;
    const breakOff = (error: unknown) => {
      if (isSettled) return;
      if (status !== 0) return finish("cut-short");
      const sent = isSent();
      const code = reasonOf(error);
      // Nothing else aborts a request before it starts.
      const isRefused = !sent && code === "UND_ERR_ABORTED";
      const reason = isRefused ? "PROXY_REFUSED" : code;
      const permanent = isRefused || (!sent && isPermanent(code));
      fail(new WireFailure({ sent, permanent, reason, ...(isRefused && { cause: error }) }));
    };

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        if (hasStarted) {
          breakOff(refusal("a request is sent once", "REPEATED_BY_DISPATCHER"));
          const error = refusal("a request is sent once");
          // Some wrappers swallow what a handler throws, and some controllers don't end a socket, so it does both.
          given.abort(error);
          throw error;
        }
        try {
          if (!isSettled) deadline.assertMaySend();
        } catch (error) {
          fail(error as Error);
        }
        // Throwing here leaves the socket as it is and writes nothing.
        if (isSettled) throw refusal("the call has ended");
        hasStarted = true;
        controller = given;
      },
      onResponseStart(_, code, fields) {
        if (isSettled || code < 200) return;
        status = code;
        headers = flatHeaders(fields);
      },
      onResponseData(_, chunk) {
        if (isSettled || body.push(chunk)) return;
        respond({ text: "", broken: "too-large" });
        controller?.abort(refusal("the response is too large"));
      },
      onResponseEnd() {
        if (!isSettled) finish();
      },
      onResponseError: (_, error) => breakOff(error),
    };

    try {
      const { origin, path, method, headers, body = null } = request;
      const headersTimeout = firstByteMs > 0 ? firstByteMs : null;
      dispatcher.dispatch({ origin, path, method, headers, body, headersTimeout }, handler);
    } catch (error) {
      if (dispatcher.showsStart) breakOff(error);
      else if (!isSettled) fail(unusableDispatcher(error));
    }
  });
}

async function decode(body: Body, coding: string): Promise<DecodedText> {
  const decoded = (await decompress?.(body.bytes(), coding, body.maxBytes)) ?? "encoded";
  return typeof decoded === "string" ? { text: "", broken: decoded } : decodeText(decoded);
}

/** An error for the dispatcher, with a code that `interceptors.retry` doesn't retry. */
function refusal(message: string, code = "UND_ERR_ABORTED"): Error {
  return Object.assign(new Error(message), { code });
}

/** Failures to connect that will be the same next time, such as certificates and TLS versions. */
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
  for (const [name, value = ""] of Object.entries(headers))
    flat[name] = Array.isArray(value) ? value.join(", ") : value;
  return flat;
}
