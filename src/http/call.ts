import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { AnyOperation } from "../api/operation.js";
import type { RequestOptions } from "../api/request-options.js";
import { clock, type Timestamp } from "../core/clock.js";
import { Deadline } from "../core/deadline.js";
import { ConfigError, type CrossBorderError, type Effect, traceFrom } from "../core/errors.js";
import { nextDelayMs } from "../core/retry.js";
import { type Followed, follow, serverAttributes, type Tracing } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import type { WireRequest, WireResponse } from "../wire/transport.js";
import type { CallContext } from "./context.js";
import { decisions, type OperationKind, operationKind, worseEffect } from "./decision.js";
import { checkHeaders, type PreparedRequest, prepareRequest, presignedRequest } from "./prepare.js";
import { type Failure, failureOfThrown, type ReadResponse, readResponse } from "./read.js";
import { CallReport } from "./report.js";

/** The caller's input, or a request that was signed earlier. */
export type CallSource =
  | { readonly ids: readonly string[]; readonly input: CallInput<unknown>; readonly signed: boolean }
  | { readonly presigned: SignedRequest; readonly sendBy?: Timestamp };

/** One call. Read it from top to bottom, since it prepares, signs, attempts, and reads. One place turns a failure into an error. */
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
  #signature: string | undefined;
  #attempts = 0;
  /** Includes earlier attempts. */
  #effect: Effect = "none";
  /** Whether any byte of them may have left. */
  #isSent = false;
  /** Absent if this call isn't recorded. */
  #tracing: Tracing | undefined;

  /**
   * Reads all of the input, so later changes to it don't reach the request.
   *
   * @throws {InvalidArgumentError} when an option, a header, or the input can't be used.
   */
  constructor(client: CallContext, operation: AnyOperation, source: CallSource, options: RequestOptions) {
    this.#client = client;
    this.#operation = operation;
    this.#source = source;
    this.#isSigned = "presigned" in source || source.signed;
    this.#kind = operationKind(operation, this.#isSigned);
    const { headers, maxRetries = client.maxRetries, timeoutMs = client.timeoutMs, signal } = options;
    this.#headers = headers === undefined ? client.headers : { ...client.headers, ...checkHeaders(headers) };
    if ("presigned" in source) {
      this.#request = presignedRequest(client, source.presigned);
      this.#signature = source.presigned.signature;
    } else {
      this.#request = prepareRequest(client, operation, source.ids, source.input);
      if (source.signed) assertSigner(operation, client.signer);
    }
    this.report = new CallReport(client, operation, this.#headers, this.#request.values);
    this.#maxRetries = maxRetries;
    this.#deadline = new Deadline({ timeoutMs, signal, sendBy: "sendBy" in source ? source.sendBy : undefined });
  }

  /** The data of the response, or the error that says what was done. */
  run(): Promise<unknown> {
    const { tracing } = this.#client.reporter;
    if (tracing === undefined) return this.#run();
    const { name, method, path } = this.#operation;
    const attributes = { "http.request.method": method, "url.template": path.text };
    return tracing.follow({ name, kind: "internal", attributes }, ({ isSeen }) => {
      if (isSeen) this.#tracing = tracing;
      return this.#run();
    });
  }

  /** Signs the request, if it is to be signed, and doesn't send it. */
  async sign(): Promise<SignedRequest> {
    const { signer, reporter } = this.#client;
    const { path, text: body } = this.#request;
    this.#tracing = reporter.tracing;
    try {
      const signature = this.#isSigned && signer !== undefined ? await this.#sign(signer) : "";
      return { path, body, signature };
    } catch (error) {
      throw await this.#toError(failureOfThrown(error));
    } finally {
      this.#deadline.finish();
    }
  }

  async #run(): Promise<unknown> {
    const { inFlight, schemas } = this.#client;
    inFlight.begin();
    try {
      let outcome: ReadResponse["outcome"];
      try {
        if (!schemas.isLoaded) await schemas.load();
        outcome = await this.#perform();
      } catch (error) {
        outcome = failureOfThrown(error);
      }
      if (!("data" in outcome)) throw traceFrom(await this.#toError(outcome), this.#run);
      this.report.succeeded(this.#attempts);
      return outcome.data;
    } finally {
      inFlight.end();
      this.#deadline.finish();
    }
  }

  /** Signs once. A retry has the same bytes and the same signature. An attempt with a renewed token isn't a retry. */
  async #perform(): Promise<ReadResponse["outcome"]> {
    const { tokens, signer } = this.#client;
    this.#deadline.assertNotEnded();
    if (this.#isSigned && signer !== undefined) this.#signature ??= await this.#sign(signer);
    let retries = 0;
    let renewed: string | undefined;
    for (;;) {
      const current = renewed ?? tokens.current(this.#deadline, this.#maxRetries);
      const token = typeof current === "string" ? current : await current;
      this.report.hideToken(token);
      this.#attempts += 1;
      const outcome = await this.#attempt(token);
      this.#isSent ||= "data" in outcome || outcome.kind !== "no-status" || outcome.cause.sent;
      if ("data" in outcome) tokens.accepted?.(token);
      if ("data" in outcome || outcome.kind === "thrown") return outcome;
      const { reaction, effect } = decisions[outcome.class][this.#kind];
      this.#effect = worseEffect(this.#effect, effect);
      if (this.#isFinal(outcome)) {
        if (reaction === "renew-token") tokens.refused?.(token);
        return outcome;
      }
      if (reaction === "renew-token") {
        if (renewed !== undefined) return outcome;
        renewed = await tokens.renew(token, this.#deadline, this.#maxRetries);
      } else {
        renewed = undefined;
        if (reaction === "fail" || !(await this.#waitToRetry(outcome, retries))) return outcome;
        retries += 1;
      }
    }
  }

  /** A proxy may have forwarded a request and still respond itself, so the signer searches before it sends again. */
  #isFinal({ kind }: Failure): boolean {
    return this.#maxRetries === 0 || ("presigned" in this.#source && kind === "status");
  }

  /** If the call has ended, the signer isn't asked. */
  #sign(signer: Signer): Promise<string> {
    const { signedPath, text } = this.#request;
    this.#deadline.assertNotEnded();
    return follow(
      this.#tracing,
      () => ({ name: "signature", kind: "internal", attributes: {} }),
      () => this.#deadline.race(signer.sign(signedPath, text, this.#deadline)),
    );
  }

  async #attempt(token: string): Promise<ReadResponse["outcome"]> {
    const { budget, schemas, validation } = this.#client;
    const startMs = clock.monotonicMs();
    let response: WireResponse;
    try {
      response = await (this.#tracing === undefined ? this.#send(token) : this.#sendFollowed(token, this.#tracing));
    } catch (error) {
      return failureOfThrown(error);
    }
    this.report.responded(response, this.#attempts, clock.monotonicMs() - startMs);
    const { values } = this.#request;
    const { outcome, mismatches } = readResponse(this.#operation, values, response, validation, schemas);
    if ("data" in outcome) {
      budget.giveBack();
      this.report.failedStatuses(outcome.data);
    }
    this.report.differs(mismatches);
    return outcome;
  }

  #send(token: string, traceHeaders?: Followed["headers"]): Promise<WireResponse> {
    return this.#client.transport.send(this.#toWire(token, traceHeaders), this.#deadline);
  }

  #sendFollowed(token: string, tracing: Tracing): Promise<WireResponse> {
    const { method, path } = this.#operation;
    const attributes = {
      "http.request.method": method,
      "url.template": path.text,
      ...serverAttributes(this.#client.origin),
      "http.request.resend_count": this.#attempts > 1 ? this.#attempts - 1 : undefined,
    };
    return tracing.follow({ name: `${method} ${path.text}`, kind: "client", attributes }, async (followed) => {
      try {
        const response = await this.#send(token, followed.headers);
        const { status } = response;
        followed.note({
          "http.response.status_code": status,
          "error.type": status >= 400 ? String(status) : undefined,
        });
        return response;
      } catch (error) {
        const failure = failureOfThrown(error);
        followed.note({ "error.type": failure.kind === "thrown" ? "_OTHER" : failure.reason });
        throw error;
      }
    });
  }

  /** The caller's own trace headers replace those of the tracing. */
  #toWire(token: string, traceHeaders: Followed["headers"] | undefined): WireRequest {
    const { origin, maxListBytes, maxRecordBytes, transport } = this.#client;
    const { method, verb } = this.#operation;
    const { path, body } = this.#request;
    const headers: Record<string, string> = {
      ...traceHeaders,
      ...this.#headers,
      accept: "application/json",
      authorization: `Bearer ${token}`,
    };
    const isList = verb === "list" || (verb === "request" && method === "GET");
    const encoding = isList ? transport.acceptEncoding : "identity";
    if (encoding !== undefined) headers["accept-encoding"] = encoding;
    // A cached list is out of date. The most restrictive directive counts (RFC 9111, section 4.2.1).
    if (verb === "list") {
      const own = headers["cache-control"];
      headers["cache-control"] = own ? `no-cache, ${own}` : "no-cache";
    }
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#signature !== undefined) headers["x-service-signature-base64"] = this.#signature;
    const repeatable = this.#kind === "read" && this.#maxRetries > 0;
    const maxResponseBytes = isList ? maxListBytes : maxRecordBytes;
    return { method, origin, path, headers, body, repeatable, maxResponseBytes };
  }

  /** @returns whether another attempt follows, after the wait before it. */
  async #waitToRetry(failure: Exclude<Failure, { kind: "thrown" }>, retries: number): Promise<boolean> {
    const { budget, random } = this.#client;
    if (retries >= this.#maxRetries) return false;
    const retryAfterMs = failure.kind === "status" ? (failure.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(nextDelayMs(retries, random), retryAfterMs);
    if (delayMs >= this.#deadline.remainingMs() || !budget.take()) return false;
    this.report.willRetry(failure.reason, this.#attempts, delayMs);
    await this.#deadline.sleep(delayMs);
    return true;
  }

  async #toError(failure: Failure): Promise<CrossBorderError> {
    const { path, text, signedPath, body = new Uint8Array() } = this.#request;
    const description = this.#isSigned ? this.#client.signer?.describe(signedPath, body) : undefined;
    return this.report.failed(failure, {
      kind: this.#kind,
      attempts: this.#attempts,
      effect: this.#effect,
      isSent: this.#isSent,
      request: { path, body: text, ...(this.#signature !== undefined && { signature: this.#signature }) },
      signed: await description?.catch(() => undefined),
    });
  }
}

/** @throws {ConfigError} if a signed operation has no key. */
export function assertSigner(
  { name: operation }: Pick<AnyOperation, "name">,
  signer: Signer | undefined,
): asserts signer is Signer {
  if (signer !== undefined) return;
  throw new ConfigError(`${operation} is signed, and the client was built without a signingKey`, { operation });
}
