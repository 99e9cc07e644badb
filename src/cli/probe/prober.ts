import { type Granted, type GrantResult, TokenEndpoint, type TokenEndpointOptions } from "../../auth/token-endpoint.js";
import { type GrantFailure, isRefusal, toTokenError } from "../../auth/token-error.js";
import { clock } from "../../core/clock.js";
import { Deadline } from "../../core/deadline.js";
import { isShowable } from "../../core/redact.js";
import { parseRetryAfterMs } from "../../core/retry.js";
import type { BaseUrl } from "../../wire/base-url.js";
import { parseObject } from "../../wire/response.js";
import { type Transport, WireFailure, type WireRequest, type WireResponse } from "../../wire/transport.js";
import { BudgetSpent, NoAnswer } from "./no-answer.js";

/** One request and what came of it, as evidence: without its body, and without anything secret. */
export interface SentRequest {
  readonly id: string;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  /** Absent where no response came. */
  status?: number;
  ms?: number;
  /** The service's own id of the request, where it gives one. */
  serviceRequestId?: string;
  /** Why no response came, as a code. */
  failure?: string;
}

/** A response with the time at which it was asked for and came, by the local clock. */
export interface Seen {
  readonly request: SentRequest;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined where the body is not JSON. */
  readonly json: unknown;
  readonly hasBody: boolean;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  readonly ms: number;
  /** By how much the local clock is ahead of what this machine counts from its start: more or less once somebody sets it. */
  readonly setAtMs: number;
}

export interface ProbeRequest {
  readonly method?: "GET" | "POST" | "PUT";
  /** Below the base path. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The access token; `null` for none. Default: the session's, renewed in time. */
  readonly token?: string | null;
}

export interface ProberOptions {
  readonly baseUrl: BaseUrl;
  readonly auth: TokenEndpointOptions["auth"];
  readonly transport: Transport;
  /** The most requests that are sent, token requests among them. */
  readonly budget: number;
  /** The longest that a question waits for anything. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

const timeoutMs = 30_000;
const maxResponseBytes = 64 * 1024 * 1024;
/** After a 429 that does not say how long to wait. */
const unsaidWaitMs = 5000;

/** Sends one request after another, counts them, notes each as evidence, and waits where it is told to. */
export class Prober {
  readonly requests: SentRequest[] = [];
  readonly baseUrl: BaseUrl;
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  readonly #transport: Transport;
  readonly #endpoint: TokenEndpoint;
  /** Sends what has to be sent also where there is no budget left, or the user has ended the rest. */
  readonly #lastEndpoint: TokenEndpoint;
  readonly #budget: number;
  #notBeforeMs = 0;
  #session: (Granted & { readonly renewAtMs: number }) | undefined;
  /** Whether the service took the last token that it was sent. */
  #isAccepted = false;
  /** Of the login: there is no other one. */
  #refusal: GrantFailure | undefined;

  constructor({ baseUrl, auth, transport, budget, patienceMs, signal }: ProberOptions) {
    this.baseUrl = baseUrl;
    this.patienceMs = patienceMs;
    this.signal = signal;
    this.#transport = transport;
    // Two are kept back: they end sessions.
    this.#budget = budget - 2;
    const counted: Transport = {
      send: async (request) => (await this.#exchange(request, request.path, true)).response,
      close: () => Promise.resolve(),
    };
    const last: Transport = {
      send: async (request, deadline) => (await this.#once(request, request.path, deadline)).response,
      close: () => Promise.resolve(),
    };
    this.#endpoint = new TokenEndpoint({
      auth: { ...auth, timeoutMs: timeoutMs + patienceMs },
      transport: counted,
      signal,
    });
    this.#lastEndpoint = new TokenEndpoint({ auth: { ...auth, timeoutMs }, transport: last });
  }

  /** How many requests there may still be. */
  get left(): number {
    return this.#budget - this.requests.length;
  }

  /** What this machine can decompress. */
  get acceptEncoding(): string {
    return this.#transport.acceptEncoding ?? "identity";
  }

  /** @throws {BudgetSpent | NoAnswer} where it can't be sent, or no response came. */
  async send(request: ProbeRequest): Promise<Seen> {
    const seen = await this.#send(request);
    if (request.token !== undefined) return seen;
    const wasAccepted = this.#isAccepted;
    this.#isAccepted = seen.status !== 401;
    // A service that takes none of the session's tokens would have one after another.
    if (this.#isAccepted || !wasAccepted || this.#session === undefined) return seen;
    // Somebody has ended the session, or the service has another idea of its length.
    this.#session = { ...this.#session, renewAtMs: 0 };
    return this.send(request);
  }

  /** @throws {TokenError} where the session can't be had. */
  async token(): Promise<string> {
    if (this.#session !== undefined && clock.monotonicMs() < this.#session.renewAtMs) return this.#session.accessToken;
    if (this.left <= 0) throw new BudgetSpent();
    const refreshToken = this.#session?.refreshToken;
    const refreshed = refreshToken === undefined ? undefined : await this.refresh(refreshToken);
    const granted = refreshed !== undefined && "granted" in refreshed ? refreshed.granted : await this.logIn();
    const lifetimeMs = granted.lifetimeMs ?? 60_000;
    const renewAtMs = clock.monotonicMs() + lifetimeMs - Math.min(lifetimeMs / 2, 20_000);
    this.#session = { ...granted, refreshToken: granted.refreshToken ?? refreshToken, renewAtMs };
    return granted.accessToken;
  }

  /**
   * Sends what undoes a change, also where there is no budget left, or the user has ended the rest. Never rejects: undefined where no
   * response came.
   */
  async sendLast(request: ProbeRequest): Promise<Seen | undefined> {
    try {
      return await this.#send(request, true);
    } catch {
      return undefined;
    }
  }

  /** A session of its own. @throws {TokenError} */
  async logIn(): Promise<Granted> {
    // Each question would be one more attempt at a password that was refused, and identity servers lock accounts.
    if (this.#refusal !== undefined) throw this.tokenError(this.#refusal);
    const result = await this.#endpoint.login();
    if ("failure" in result && isRefusal(result.failure)) this.#refusal = result.failure;
    return this.#granted(result);
  }

  refresh(refreshToken: string): Promise<GrantResult> {
    return this.#endpoint.refresh(refreshToken);
  }

  /** Never rejects. */
  async logOut({ refreshToken }: Pick<Granted, "refreshToken">): Promise<void> {
    if (refreshToken === undefined) return;
    const deadline = new Deadline({ timeoutMs: 2000 });
    await this.#lastEndpoint.logout(refreshToken, deadline);
    deadline.finish();
  }

  tokenError(failure: GrantFailure): Error {
    return toTokenError(failure, this.#endpoint.url);
  }

  /** Counts a request that somebody else sends. @throws {BudgetSpent} */
  note(method: string, path: string): SentRequest {
    if (this.left <= 0) throw new BudgetSpent();
    return this.#note(method, path);
  }

  /** @throws {Ended} when the user ends it. */
  async pause(ms: number): Promise<void> {
    const deadline = new Deadline({ signal: this.signal });
    try {
      await deadline.sleep(ms);
    } finally {
      deadline.finish();
    }
  }

  /** Ends the session. Never rejects. */
  async close(): Promise<void> {
    if (this.#session !== undefined) await this.logOut(this.#session);
    this.#session = undefined;
  }

  #granted(result: GrantResult): Granted {
    if ("granted" in result) return result.granted;
    throw this.tokenError(result.failure);
  }

  async #send({ method = "GET", path, query, headers, body, token }: ProbeRequest, isLast = false): Promise<Seen> {
    const bearer = isLast ? (this.#session?.accessToken ?? null) : token === undefined ? await this.token() : token;
    const search = query === undefined ? "" : `?${new URLSearchParams(query)}`;
    const fullPath = this.baseUrl.path + path + search;
    const request: WireRequest = {
      method,
      origin: this.baseUrl.origin,
      path: fullPath,
      headers: {
        ...{ accept: "application/json", "accept-encoding": "identity", "cache-control": "no-cache" },
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      body: body === undefined ? undefined : new TextEncoder().encode(body),
      maxResponseBytes,
    };
    const isRepeatable = method === "GET" || path === "/payment-intents";
    const { response, noted, sentAtMs, receivedAtMs, ms, setAtMs } = isLast
      ? await this.#onceWithin(request, fullPath, new Deadline({ timeoutMs: 10_000 }))
      : await this.#exchange(request, fullPath, isRepeatable);
    const { status, text } = response;
    return {
      ...{ request: noted, status, headers: response.headers, json: parsed(text), hasBody: text !== "" },
      ...{ sentAtMs, receivedAtMs, ms, setAtMs },
    };
  }

  /** @param repeatable may be sent again after a 429 or a 503 that asks for a wait. */
  async #exchange(request: WireRequest, path: string, repeatable: boolean) {
    for (let attempt = 1; ; attempt += 1) {
      await this.#untilAllowed();
      if (this.left <= 0) throw new BudgetSpent();
      const deadline = new Deadline({ timeoutMs, signal: this.signal });
      const exchanged = await this.#onceWithin(request, path, deadline);
      const waitMs = waitOf(exchanged.response);
      if (waitMs === undefined) return exchanged;
      this.#notBeforeMs = clock.monotonicMs() + waitMs;
      if (!repeatable || attempt === 3) return exchanged;
    }
  }

  async #untilAllowed(): Promise<void> {
    const waitMs = this.#notBeforeMs - clock.monotonicMs();
    if (waitMs <= 0) return;
    if (waitMs > this.patienceMs) {
      throw new NoAnswer(`the service asks to wait for another ${Math.ceil(waitMs / 1000)} s, longer than --patience`);
    }
    await this.pause(waitMs);
  }

  async #onceWithin(request: WireRequest, path: string, deadline: Deadline) {
    return this.#once(request, path, deadline).finally(() => deadline.finish());
  }

  #note(method: string, path: string): SentRequest {
    const noted: SentRequest = {
      id: `r${this.requests.length + 1}`,
      at: new Date(clock.wallMs()).toISOString(),
      method,
      path,
    };
    this.requests.push(noted);
    return noted;
  }

  async #once(request: WireRequest, path: string, deadline: Deadline) {
    const sentAtMs = clock.wallMs();
    const startMs = clock.monotonicMs();
    const noted = this.#note(request.method, path);
    try {
      const response = await this.#transport.send(request, deadline);
      const ms = clock.monotonicMs() - startMs;
      const requestId = requestIdOf(response, request);
      noted.status = response.status;
      noted.ms = Math.round(ms * 10) / 10;
      if (requestId !== undefined) noted.serviceRequestId = requestId;
      return { response, noted, sentAtMs, receivedAtMs: clock.wallMs(), ms, setAtMs: sentAtMs - startMs };
    } catch (error) {
      noted.failure = error instanceof WireFailure ? error.reason : "timeout";
      if (this.signal.aborted) throw error;
      throw new NoAnswer(`no response came to ${noted.id} (${noted.failure})`);
    }
  }
}

function waitOf({ status, headers }: WireResponse): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  return parseRetryAfterMs(headers["retry-after"], clock.wallMs()) ?? (status === 429 ? unsaidWaitMs : undefined);
}

/** As it was sent, unless it repeats something of the request: a service can give anything for an id. */
function requestIdOf({ headers }: WireResponse, { headers: sent, body }: WireRequest): string | undefined {
  const id = headers["x-request-id"] ?? "";
  const text = new TextDecoder().decode(body);
  const values = parseObject(text) ?? Object.fromEntries(new URLSearchParams(text));
  const texts = Object.values(values).filter((value) => typeof value === "string");
  const secrets = [...texts, ...(sent.authorization ?? "").split(" ")];
  return /^[\x21-\x7e]{1,128}$/.test(id) && isShowable(id, secrets) ? id : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
