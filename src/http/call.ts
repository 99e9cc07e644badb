import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { AnyOperation } from "../api/operation.js";
import type { RequestOptions } from "../api/request-options.js";
import { clock, type Timestamp } from "../core/clock.js";
import { Deadline } from "../core/deadline.js";
import { ConfigError, type CrossBorderError, type Effect, traceFrom } from "../core/errors.js";
import { nextDelayMs } from "../core/retry.js";
import { follow, type Part, type Tracing } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import type { WireRequest, WireResponse } from "../wire/transport.js";
import type { CallContext } from "./context.js";
import { decisions, type OperationKind, operationKind, worseEffect } from "./decision.js";
import { checkHeaders, type PreparedRequest, prepareRequest, presignedRequest, withNoCache } from "./prepare.js";
import { type Failure, failureOfThrown, readResponse, type ValidationMode } from "./read.js";
import { CallReport } from "./report.js";
import type { Schemas } from "./schema.js";

/** The caller's input, or a request that was signed earlier. */
export type CallSource =
  | { readonly ids: readonly string[]; readonly input: CallInput<unknown>; readonly signed: boolean }
  | { readonly presigned: SignedRequest; readonly sendBy: Timestamp };

interface Progress {
  signature: string | undefined;
  attempts: number;
  /** What all attempts so far may have done. */
  effect: Effect;
  /** Whether any byte of them may have left. */
  isSent: boolean;
}

interface Attempt {
  readonly request: PreparedRequest;
  readonly signature: string | undefined;
  readonly token: string;
  /** The first attempt is number 1. */
  readonly number: number;
}

type Outcome = { readonly data: unknown } | Failure;

/** One call, from top to bottom: prepare, sign, attempt, read. One place turns a failure into an error. */
export class Call {
  readonly report: CallReport;
  readonly #client: CallContext;
  readonly #operation: AnyOperation;
  readonly #kind: OperationKind;
  readonly #source: CallSource;
  readonly #isSigned: boolean;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #request: PreparedRequest;
  readonly #deadline: Deadline;
  readonly #maxRetries: number;

  /**
   * Reads all of the input, so later changes to it don't reach the request.
   *
   * @throws {InvalidArgumentError} when an option, a header, or the input can't be used.
   */
  constructor(client: CallContext, operation: AnyOperation, source: CallSource, options: RequestOptions = {}) {
    this.#client = client;
    this.#operation = operation;
    this.#source = source;
    this.#isSigned = "presigned" in source || source.signed;
    this.#kind = operationKind(operation, this.#isSigned);
    this.#headers =
      options.headers === undefined ? client.headers : { ...client.headers, ...checkHeaders(options.headers) };
    this.#request = this.#prepare();
    this.report = new CallReport(client, operation, this.#headers);
    this.report.hideValues(this.#request.values);
    this.#maxRetries = options.maxRetries ?? client.maxRetries;
    this.#deadline = new Deadline({
      timeoutMs: options.timeoutMs ?? client.timeoutMs,
      signal: options.signal,
      sendBy: "sendBy" in source ? source.sendBy : undefined,
    });
  }

  /** The data of the response, or the error that says what was done. */
  run(): Promise<unknown> {
    const { tracing } = this.#client.reporter;
    if (tracing === undefined) return this.#run(undefined);
    return tracing.follow(callPart(this.#operation), ({ isSeen }) => this.#run(isSeen ? tracing : undefined));
  }

  async #run(tracing: Tracing | undefined): Promise<unknown> {
    const { inFlight, schemas } = this.#client;
    inFlight.begin();
    try {
      const request = this.#request;
      const progress: Progress = { signature: request.signature, attempts: 0, effect: "none", isSent: false };
      let outcome: Outcome;
      try {
        const loaded = schemas.loaded ?? (await schemas.load());
        outcome = await this.#perform(request, loaded, progress, tracing);
      } catch (error) {
        outcome = failureOfThrown(error);
      }
      if (!("data" in outcome)) throw traceFrom(await this.#toError(outcome, request, progress), this.#run);
      this.report.succeeded(progress.attempts);
      return outcome.data;
    } finally {
      inFlight.end();
      this.#deadline.finish();
    }
  }

  #prepare(): PreparedRequest {
    if ("presigned" in this.#source) return presignedRequest(this.#client, this.#source.presigned);
    const { ids, input } = this.#source;
    const request = prepareRequest(this.#client, this.#operation, ids, input);
    if (this.#isSigned) assertSigner(this.#operation, this.#client.signer);
    return request;
  }

  /** Signs once: a retry has the same bytes and the same signature. An attempt with a renewed token isn't a retry. */
  async #perform(
    request: PreparedRequest,
    schemas: Schemas,
    progress: Progress,
    tracing: Tracing | undefined,
  ): Promise<Outcome> {
    const { tokens, signer } = this.#client;
    this.#deadline.assertNotEnded();
    if (this.#isSigned && signer !== undefined) {
      progress.signature ??= await signatureOf(signer, request, this.#deadline, tracing);
    }
    let retries = 0;
    let renewed: string | undefined;
    for (;;) {
      const current = renewed ?? tokens.current(this.#deadline, this.#maxRetries);
      const token = typeof current === "string" ? current : await current;
      this.report.hideToken(token);
      progress.attempts += 1;
      const attempt = { request, signature: progress.signature, token, number: progress.attempts };
      const outcome = await this.#attempt(attempt, schemas, tracing);
      progress.isSent ||= "data" in outcome || outcome.kind !== "no-status" || outcome.cause.sent;
      if ("data" in outcome) {
        tokens.accepted?.(token);
        return outcome;
      }
      if (outcome.kind === "thrown") return outcome;
      const { reaction, effect } = decisions[outcome.class][this.#kind];
      progress.effect = worseEffect(progress.effect, effect);
      if (this.#isFinal(outcome)) {
        if (reaction === "renew-token") tokens.refused?.(token);
        return outcome;
      }
      if (reaction === "renew-token") {
        if (renewed !== undefined) return outcome;
        renewed = await tokens.renew(token, this.#deadline, this.#maxRetries);
      } else {
        renewed = undefined;
        if (reaction === "fail" || !(await this.#waitToRetry(outcome, retries, progress.attempts))) return outcome;
        retries += 1;
      }
    }
  }

  /** A proxy may have forwarded a request and still respond itself, so the signer searches before it sends again. */
  #isFinal({ kind }: Failure): boolean {
    return this.#maxRetries === 0 || ("presigned" in this.#source && kind === "status");
  }

  async #attempt(attempt: Attempt, schemas: Schemas, tracing: Tracing | undefined): Promise<Outcome> {
    const startMs = clock.monotonicMs();
    let response: WireResponse;
    try {
      response = await (tracing === undefined ? this.#send(attempt) : this.#sendFollowed(attempt, tracing));
    } catch (error) {
      return failureOfThrown(error);
    }
    this.report.responded(response, attempt.number, clock.monotonicMs() - startMs);
    const { outcome, mismatches } = readResponse(
      this.#operation,
      attempt.request.values,
      response,
      this.#validation(),
      schemas,
    );
    if ("data" in outcome) {
      this.#client.budget.giveBack();
      if (this.#operation.verb === "create") {
        this.report.failedStatuses(this.#operation.record, outcome.data);
      }
    }
    this.report.differs(mismatches);
    return outcome;
  }

  #send(attempt: Attempt, headers = this.#headers): Promise<WireResponse> {
    return this.#client.transport.send(this.#toWire(attempt, headers), this.#deadline);
  }

  #sendFollowed(attempt: Attempt, tracing: Tracing): Promise<WireResponse> {
    const part = attemptPart(this.#operation, this.#client, attempt.number);
    return tracing.follow(part, async ({ headers, note }) => {
      try {
        // The caller's own trace headers replace these.
        const response = await this.#send(attempt, { ...headers, ...this.#headers });
        const { status } = response;
        note({ "http.response.status_code": status, "error.type": status >= 400 ? String(status) : undefined });
        return response;
      } catch (error) {
        const failure = failureOfThrown(error);
        note({ "error.type": failure.kind === "thrown" ? "_OTHER" : this.report.showableReason(failure.reason) });
        throw error;
      }
    });
  }

  #validation(): ValidationMode {
    const { validation } = this.#client;
    const isLenient = "input" in this.#source && this.#source.input.lenient === true;
    return isLenient && validation === "strict" ? "report" : validation;
  }

  #toWire({ request, signature, token }: Attempt, own: Readonly<Record<string, string>>): WireRequest {
    const { origin, maxListBytes, maxRecordBytes, transport } = this.#client;
    const { method, verb } = this.#operation;
    const { path, body } = request;
    const headers: Record<string, string> = {
      ...own,
      accept: "application/json",
      authorization: `Bearer ${token}`,
    };
    const isList = verb === "list" || (verb === "request" && method === "GET");
    const encoding = isList ? transport.acceptEncoding : "identity";
    if (encoding !== undefined) headers["accept-encoding"] = encoding;
    if (verb === "list") headers["cache-control"] = withNoCache(headers["cache-control"]);
    if (body !== undefined) headers["content-type"] = "application/json";
    if (signature !== undefined) headers["x-service-signature-base64"] = signature;
    const repeatable = this.#kind === "read" && this.#maxRetries > 0;
    return {
      method,
      origin,
      path,
      headers,
      body,
      repeatable,
      maxResponseBytes: isList ? maxListBytes : maxRecordBytes,
    };
  }

  /** @returns whether there is to be another attempt, after the wait before it. */
  async #waitToRetry(
    failure: Exclude<Failure, { kind: "thrown" }>,
    retries: number,
    attempt: number,
  ): Promise<boolean> {
    const { budget, random } = this.#client;
    if (retries >= this.#maxRetries) return false;
    const retryAfterMs = failure.kind === "status" ? (failure.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(nextDelayMs(retries, random), retryAfterMs);
    if (delayMs >= this.#deadline.remainingMs() || !budget.take()) return false;
    this.report.willRetry(failure.reason, attempt, delayMs);
    await this.#deadline.sleep(delayMs);
    return true;
  }

  async #toError(failure: Failure, request: PreparedRequest, progress: Progress): Promise<CrossBorderError> {
    const { path, text, signedPath, body = new Uint8Array() } = request;
    const { signature, attempts, effect, isSent } = progress;
    const description = this.#isSigned ? this.#client.signer?.describe(signedPath, body) : undefined;
    return this.report.failed(failure, {
      kind: this.#kind,
      attempts,
      effect,
      isSent,
      request: { path, body: text, ...(signature === undefined ? undefined : { signature }) },
      signed: await description?.catch(() => undefined),
    });
  }
}

function callPart({ name, method, path }: AnyOperation): Part {
  return { name, kind: "internal", attributes: { "http.request.method": method, "url.template": path.text } };
}

function attemptPart({ method, path }: AnyOperation, { server }: CallContext, attempt: number): Part {
  return {
    name: `${method} ${path.text}`,
    kind: "client",
    attributes: {
      "http.request.method": method,
      "url.template": path.text,
      ...server,
      "http.request.resend_count": attempt > 1 ? attempt - 1 : undefined,
    },
  };
}

/** The signed text, and the values that no error may show. */
type Signable = Pick<PreparedRequest, "signedPath" | "text" | "values">;

/** Makes a trial signature, to find a broken key or signer before it's needed. */
export async function trySigner(client: CallContext, operation: AnyOperation, options: RequestOptions): Promise<void> {
  await signOnly(client, operation, { signedPath: "/", text: "", values: {} }, options);
}

/**
 * The signature of a request that is not sent.
 *
 * @throws {ConfigError} if there is no key. @throws {SigningError} if no signature was made.
 */
export async function signOnly(
  client: CallContext,
  operation: AnyOperation,
  signable: Signable,
  { headers, timeoutMs = client.timeoutMs, signal }: RequestOptions,
): Promise<string> {
  const { signer } = client;
  assertSigner(operation, signer);
  const report = new CallReport(client, operation, checkHeaders(headers));
  report.hideValues(signable.values);
  const deadline = new Deadline({ timeoutMs, signal });
  try {
    return await signatureOf(signer, signable, deadline, client.reporter.tracing);
  } catch (thrown) {
    throw report.failed(failureOfThrown(thrown), { kind: "signed", attempts: 0, effect: "none", isSent: false });
  } finally {
    deadline.finish();
  }
}

/** If the call has ended, the signer isn't asked. */
export function signatureOf(
  signer: Signer,
  { signedPath, text }: Signable,
  deadline: Deadline,
  tracing: Tracing | undefined,
): Promise<string> {
  deadline.assertNotEnded();
  return follow(tracing, signaturePart, () => deadline.race(signer.sign(signedPath, text, deadline)));
}

const signaturePart = (): Part => ({ name: "signature", kind: "internal", attributes: {} });

/** @throws {ConfigError} if a signed operation has no key. */
export function assertSigner(
  { name: operation }: Pick<AnyOperation, "name">,
  signer: Signer | undefined,
): asserts signer is Signer {
  if (signer !== undefined) return;
  throw new ConfigError(`${operation} is signed, and the client was built without a signingKey`, { operation });
}
