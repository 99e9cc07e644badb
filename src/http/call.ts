import type { CallInput, SignedRequest } from "../api/api-client.js";
import { confidentialValues } from "../api/fields.js";
import type { AnyOperation } from "../api/operation.js";
import type { RequestOptions, ResponseInfo } from "../api/request-options.js";
import type { TokenSource } from "../auth/token-source.js";
import { ConfigError, type CrossBorderError, type Effect } from "../errors/errors.js";
import { isShowable } from "../errors/redact.js";
import type { Reporter } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import { nextDelayMs } from "../timing/backoff.js";
import { clock } from "../timing/clock.js";
import { Deadline } from "../timing/deadline.js";
import type { Timestamp } from "../timing/timestamp.js";
import { type Attributes, follow, type Part, type Tracing } from "../tracing/tracing.js";
import type { Transport, WireRequest, WireResponse } from "../wire/transport.js";
import { showableReason, toError } from "./call-error.js";
import { textsIn } from "./check-undescribed-input.js";
import { decisions, type OperationKind, operationKind, worseEffect } from "./decision.js";
import { echoMismatches } from "./echo-mismatches.js";
import { type Failure, failureOfThrown } from "./failure.js";
import { checkHeaders, pastCaches } from "./headers.js";
import type { InFlight } from "./in-flight.js";
import { type PreparedRequest, prepareRequest, presignedRequest, type RequestSettings } from "./prepare-request.js";
import { readResponse, type ValidationMode } from "./read-response.js";
import type { RetryBudget } from "./retry-budget.js";
import { type Mismatch, type SchemaLoader, type Schemas, unprintable } from "./schema.js";

/** What a call needs of the client that makes it. */
export interface CallContext extends RequestSettings {
  readonly origin: string;
  /** What spans say of the origin. */
  readonly server: Attributes;
  readonly transport: Transport;
  readonly tokens: TokenSource;
  /** Absent where the client was built without a signing key. */
  readonly signer: Signer | undefined;
  readonly schemas: SchemaLoader;
  readonly reporter: Reporter;
  /** Whether the service has responded to anything. */
  hasResponded?: boolean;
  /** The mismatches that were reported before. */
  readonly reported: Set<string>;
  readonly budget: RetryBudget;
  readonly inFlight: InFlight;
  readonly random: () => number;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly validation: ValidationMode;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
}

/** What a call is made of: the caller's input, or a request that was signed earlier. */
export type CallSource =
  | { readonly ids: readonly string[]; readonly input: CallInput<unknown>; readonly signed: boolean }
  | { readonly presigned: SignedRequest; readonly sendBy: Timestamp };

type Outcome = { readonly data: unknown } | Failure;

/** One call, in the order in which it happens: prepare, sign, attempt, read, and one place where a failure becomes an error. */
export class Call {
  readonly #client: CallContext;
  readonly #operation: AnyOperation;
  readonly #kind: OperationKind;
  readonly #source: CallSource;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #deadline: Deadline;
  readonly #maxRetries: number;
  #signature: string | undefined;
  #attempts = 0;
  /** Attempts that repeated a failed one; the one with a renewed token does not count. */
  #retries = 0;
  /** What the attempts so far may have done. */
  #effect: Effect = "none";
  #token = "";
  /** The token that a 401 made this call give up. */
  #refusedToken = "";
  /** What body and query held, by field. */
  #values: PreparedRequest["values"] = {};
  /** Without the text: whoever keeps the promise of a call keeps this too. */
  #response: Pick<WireResponse, "status" | "headers"> | undefined;
  #latencyMs: number | undefined;
  /** Absent where nobody follows this call. */
  #tracing: Tracing | undefined;
  /** As the last response that had one gave it. */
  #sentRequestId: string | undefined;
  readonly #startMs = clock.monotonicMs();

  /** @throws {InvalidArgumentError} when an option or a header can't be used. */
  constructor(client: CallContext, operation: AnyOperation, source: CallSource, options: RequestOptions = {}) {
    this.#client = client;
    this.#tracing = client.reporter.tracing;
    this.#operation = operation;
    this.#kind = operationKind(operation, "presigned" in source || source.signed);
    this.#source = source;
    this.#headers = checkHeaders(options.headers);
    this.#maxRetries = options.maxRetries ?? client.maxRetries;
    this.#deadline = new Deadline({
      timeoutMs: options.timeoutMs ?? client.timeoutMs,
      signal: options.signal,
      sendBy: "sendBy" in source ? source.sendBy : undefined,
    });
  }

  /** Of the last response, once there was one. */
  get response(): ResponseInfo | undefined {
    if (this.#response === undefined) return undefined;
    const { status, headers } = this.#response;
    const sent = headers[requestIdHeader];
    const requestId = sent === undefined ? undefined : this.#requestId();
    return { status, headers, ...(requestId === undefined ? undefined : { requestId }) };
  }

  /** From the start of the last attempt that got a response to the end of that. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  /** The data of the response, or the error that says what was done. */
  run(): Promise<unknown> {
    if (this.#tracing === undefined) return this.#run();
    return this.#tracing.follow(this.#part(), ({ isSeen }) => {
      if (!isSeen) this.#tracing = undefined;
      return this.#run();
    });
  }

  #part(): Part {
    const { name, method, path } = this.#operation;
    const attributes = { "http.request.method": method, "url.template": path.text };
    return { name, kind: "internal", attributes };
  }

  async #run(): Promise<unknown> {
    this.#client.inFlight.begin();
    try {
      // Before the first `await`: what the caller changes afterwards does not reach the request.
      const request = this.#prepare();
      const schemas = this.#client.schemas.loaded ?? (await this.#client.schemas.load());
      const outcome = await this.#perform(request, schemas);
      if ("data" in outcome) {
        this.#reportSuccess();
        return outcome.data;
      }
      throw await this.#fail(outcome, request);
    } finally {
      this.#client.inFlight.end();
      this.#deadline.finish();
    }
  }

  /** The request, checked and signed, but not sent. */
  async toSigned(): Promise<SignedRequest> {
    try {
      const request = this.#prepare();
      this.#values = request.values;
      const failure = await this.#sign(request).catch(failureOfThrown);
      if (failure !== undefined) throw await this.#fail(failure, request);
      return { path: request.path, body: request.text, signature: this.#signature ?? "" };
    } finally {
      this.#deadline.finish();
    }
  }

  /** Signs something that is no request, so that a signer that can't sign is found before it is needed. */
  async trySigner(): Promise<void> {
    const nothing = { path: "/", signedPath: "/", text: "", body: undefined, values: {} };
    try {
      const failure = await this.#sign(nothing).catch(failureOfThrown);
      if (failure !== undefined) throw await this.#fail(failure, nothing);
    } finally {
      this.#deadline.finish();
    }
  }

  #prepare(): PreparedRequest {
    const { signer } = this.#client;
    if ("presigned" in this.#source) return presignedRequest(this.#client, this.#source.presigned);
    const { ids, input, signed } = this.#source;
    const request = prepareRequest(this.#client, this.#operation, ids, input);
    if (signed) assertSigner(this.#operation, signer);
    return request;
  }

  async #perform(request: PreparedRequest, schemas: Schemas): Promise<Outcome> {
    this.#values = request.values;
    try {
      await this.#sign(request);
      let renewed: string | undefined;
      for (;;) {
        this.#token = renewed ?? (await this.#client.tokens.current(this.#deadline, this.#maxRetries));
        const outcome = await this.#attempt(request, schemas);
        if ("data" in outcome) {
          this.#client.tokens.accepted?.(this.#token);
          return outcome;
        }
        if (outcome.kind === "thrown") return outcome;
        const { reaction, effect } = decisions[outcome.class][this.#kind];
        this.#effect = worseEffect(this.#effect, effect);
        // A proxy may have sent it on and respond for itself: whoever signed it looks before it is sent again.
        const isFinal = this.#maxRetries === 0 || ("presigned" in this.#source && outcome.kind === "status");
        if (isFinal) {
          if (reaction === "renew-token") this.#client.tokens.refused?.(this.#token);
          return outcome;
        }
        if (reaction === "renew-token") {
          if (renewed !== undefined) return outcome;
          this.#refusedToken = this.#token;
          renewed = await this.#client.tokens.renew(this.#token, this.#deadline, this.#maxRetries);
        } else {
          renewed = undefined;
          if (reaction === "fail" || !(await this.#waitToRetry(outcome))) return outcome;
        }
      }
    } catch (error) {
      return failureOfThrown(error);
    }
  }

  /** Signed once: a retry carries the same bytes and the same signature. A call that has ended asks nobody for anything. */
  async #sign({ signedPath, body, signature }: PreparedRequest): Promise<void> {
    this.#deadline.assertNotEnded();
    const { signer } = this.#client;
    this.#signature = signature;
    if ("presigned" in this.#source || !this.#source.signed || signer === undefined) return;
    const sign = () => this.#deadline.race(signer.sign(signedPath, body ?? new Uint8Array(), this.#deadline));
    this.#signature = await follow(this.#tracing, signaturePart, sign);
  }

  async #attempt(request: PreparedRequest, schemas: Schemas): Promise<Outcome> {
    this.#attempts += 1;
    const startMs = clock.monotonicMs();
    let response: WireResponse;
    try {
      const tracing = this.#tracing;
      response = await (tracing === undefined ? this.#send(request, {}) : this.#sendFollowed(request, tracing));
    } catch (error) {
      return failureOfThrown(error);
    }
    this.#reportResponse(response, clock.monotonicMs() - startMs);
    const { budget } = this.#client;
    const { outcome, mismatches } = readResponse(
      this.#operation,
      request.values,
      response,
      this.#validation(),
      schemas,
    );
    if ("data" in outcome) {
      budget.giveBack();
      if (this.#signature !== undefined && this.#client.validation !== "off" && this.#operation.verb !== "request") {
        this.#reportMismatches(echoMismatches(outcome.data, request.text, this.#signature));
      }
    }
    this.#reportMismatches(mismatches);
    return outcome;
  }

  #send(request: PreparedRequest, headers: Readonly<Record<string, string>>): Promise<WireResponse> {
    return this.#client.transport.send(this.#toWire(request, headers), this.#deadline);
  }

  #sendFollowed(request: PreparedRequest, tracing: Tracing): Promise<WireResponse> {
    return tracing.follow(this.#attemptPart(), async ({ headers, note }) => {
      try {
        const response = await this.#send(request, headers);
        const { status } = response;
        note({ "http.response.status_code": status, "error.type": status >= 400 ? String(status) : undefined });
        return response;
      } catch (error) {
        const failure = failureOfThrown(error);
        note({ "error.type": failure.kind === "thrown" ? "_OTHER" : showableReason(failure.reason, this.#secrets()) });
        throw error;
      }
    });
  }

  #attemptPart(): Part {
    const { method, path } = this.#operation;
    return {
      name: `${method} ${path.text}`,
      kind: "client",
      attributes: {
        "http.request.method": method,
        "url.template": path.text,
        ...this.#client.server,
        "http.request.resend_count": this.#attempts > 1 ? this.#attempts - 1 : undefined,
      },
    };
  }

  #validation(): ValidationMode {
    const { validation } = this.#client;
    const isLenient = "input" in this.#source && this.#source.input.lenient === true;
    return isLenient && validation === "strict" ? "report" : validation;
  }

  /** @param trace headers that give way to those of the caller: who passes a trace on passes it on alone. */
  #toWire({ path, body }: PreparedRequest, trace: Readonly<Record<string, string>>): WireRequest {
    const { origin, maxListBytes, maxRecordBytes, transport } = this.#client;
    const { method, verb } = this.#operation;
    const headers: Record<string, string> = {
      ...trace,
      ...this.#headers,
      accept: "application/json",
      authorization: `Bearer ${this.#token}`,
    };
    const isList = verb === "list" || (verb === "request" && method === "GET");
    const encoding = isList ? transport.acceptEncoding : "identity";
    if (encoding !== undefined) headers["accept-encoding"] = encoding;
    if (verb === "list") headers["cache-control"] = pastCaches(headers["cache-control"]);
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#signature !== undefined) headers["x-service-signature-base64"] = this.#signature;
    return { method, origin, path, headers, body, maxResponseBytes: isList ? maxListBytes : maxRecordBytes };
  }

  /** Waits before a retry; false when there is to be none. */
  async #waitToRetry(failure: Exclude<Failure, { kind: "thrown" }>): Promise<boolean> {
    const { budget, random, reporter } = this.#client;
    if (this.#retries >= this.#maxRetries) return false;
    const retryAfterMs = failure.kind === "status" ? (failure.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(nextDelayMs(this.#retries, random), retryAfterMs);
    if (delayMs >= this.#deadline.remainingMs() || !budget.take()) return false;
    this.#retries += 1;
    reporter.emit("retry", {
      operation: this.#operation.name,
      attempt: this.#attempts,
      reason: showableReason(failure.reason, this.#secrets()),
      delayMs,
    });
    await this.#deadline.sleep(delayMs);
    return true;
  }

  #reportResponse(response: WireResponse, durationMs: number): void {
    const { status, headers } = response;
    this.#response = { status, headers };
    this.#client.hasResponded = true;
    this.#latencyMs = durationMs;
    this.#sentRequestId = headers[requestIdHeader] ?? this.#sentRequestId;
    const { reporter } = this.#client;
    if (!reporter.wants("response")) return;
    const requestId = headers[requestIdHeader] === undefined ? undefined : this.#requestId();
    reporter.emit("response", {
      ...this.#named(),
      status,
      attempt: this.#attempts,
      durationMs,
      ...optional({ requestId }),
    });
  }

  #reportSuccess(): void {
    const { reporter } = this.#client;
    if (!reporter.wants("success")) return;
    reporter.emit("success", {
      ...this.#named(),
      status: this.#response?.status ?? 0,
      attempts: this.#attempts,
      durationMs: clock.monotonicMs() - this.#startMs,
      ...optional({ requestId: this.response?.requestId }),
    });
  }

  /** What the call is, without anything that it holds. */
  #named() {
    const { name: operation, method, path } = this.#operation;
    return { operation, method, path: path.text };
  }

  /** Each field of an operation once in the life of a client, which remembers so many and no more. */
  #reportMismatches(mismatches: readonly Mismatch[]): void {
    const { reporter, reported } = this.#client;
    const { name: operation } = this.#operation;
    const isNew = (field: string) => {
      const key = `${operation} ${field}`;
      if (reported.size >= mostReported || reported.has(key)) return false;
      reported.add(key);
      return true;
    };
    for (const mismatch of mismatches) {
      if (!isNew(mismatch.field)) continue;
      const isShown = mismatch.field === unprintable || isShowable(mismatch.field, this.#secrets());
      if (isShown) reporter.emit("mismatch", { operation, ...mismatch });
      else if (isNew(unprintable)) reporter.emit("mismatch", { operation, ...mismatch, field: unprintable });
    }
  }

  /** As it was sent, unless it is not an id but something that the request keeps secret. */
  #requestId(): string | undefined {
    const sent: unknown = this.#sentRequestId;
    return typeof sent === "string" && /^[\x20-\x7e]{1,128}$/.test(sent) && isShowable(sent, this.#secrets())
      ? sent
      : undefined;
  }

  async #fail(failure: Failure, request: PreparedRequest): Promise<CrossBorderError> {
    const error = await this.#toError(failure, request);
    const { code, effect, attempts = 0, requestId, operation = this.#operation.name } = error;
    const status: unknown = Reflect.get(error, "status");
    this.#client.reporter.emit("failure", {
      ...this.#named(),
      operation,
      code,
      effect,
      attempts,
      durationMs: clock.monotonicMs() - this.#startMs,
      ...optional({ requestId }),
      ...(typeof status === "number" ? { status } : undefined),
    });
    return error;
  }

  async #toError(failure: Failure, request: PreparedRequest): Promise<CrossBorderError> {
    const { path, text, signedPath, body } = request;
    const { signer, origin } = this.#client;
    const isSigned = "presigned" in this.#source || this.#source.signed;
    return toError(failure, {
      operation: this.#operation.name,
      kind: this.#kind,
      origin,
      hasResponded: this.#client.hasResponded,
      attempts: this.#attempts,
      effect: this.#effect,
      request: { path, body: text, ...(this.#signature === undefined ? undefined : { signature: this.#signature }) },
      signed: isSigned
        ? await signer?.describe(signedPath, body ?? new Uint8Array()).catch(() => undefined)
        : undefined,
      requestId: this.#requestId(),
      secrets: this.#secrets(),
    });
  }

  /** What the request held and no text may show. */
  #secrets(): string[] {
    const ofHeaders = Object.entries(this.#headers).flatMap(([name, value]) =>
      credentialHeader.test(name) ? value : [],
    );
    return [this.#token, this.#refusedToken, ...ofHeaders, ...this.#confidential()];
  }

  #confidential(): string[] {
    // Of a call without a row, nobody knows which values are accounts.
    if (this.#operation.verb === "request") return textsIn(this.#values);
    return confidentialValues(this.#operation.record, this.#values);
  }
}

/** As little as there is of it. */
function optional({
  requestId,
}: {
  readonly requestId: string | undefined;
}): { readonly requestId?: string } | undefined {
  return requestId === undefined ? undefined : { requestId };
}

const signaturePart = (): Part => ({ name: "signature", kind: "internal", attributes: {} });

const requestIdHeader = "x-request-id";

/** Headers of the caller's own that carry credentials. */
const credentialHeader = /auth|cookie|credential|key|password|secret|token/;

const mostReported = 1000;

/** @throws {ConfigError} when a signed operation has no key to be signed with. */
export function assertSigner(
  { name: operation }: Pick<AnyOperation, "name">,
  signer: Signer | undefined,
): asserts signer is Signer {
  if (signer !== undefined) return;
  throw new ConfigError(`${operation} is signed, and the client was built without a signingKey`, { operation });
}
