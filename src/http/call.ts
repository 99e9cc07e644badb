import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { AnyOperation } from "../api/operation.js";
import type { ParsedOptions } from "../api/request-options.js";
import { clock, type Timestamp } from "../core/clock.js";
import { Deadline } from "../core/deadline.js";
import { type CrossBorderError, traceFrom } from "../core/errors.js";
import { nextDelayMs } from "../core/retry.js";
import { type Followed, type Part, serverAttributes } from "../events/reporter.js";
import { encodeUtf8 } from "../platform/encodings.js";
import type { WireRequest } from "../wire/transport.js";
import { decisions, operationKind, worseEffect } from "./decision.js";
import { toError } from "./errors.js";
import { checkHeaders, type PreparedRequest, prepareRequest, presignedRequest } from "./prepare.js";
import { type Failure, failureOfThrown, type Outcome, readResponse, type Thrown } from "./read.js";
import { type CallContext, CallReport } from "./report.js";

/** The caller's input, or a request that was signed earlier. */
export type CallSource =
  | {
      readonly ids: readonly string[];
      readonly input: CallInput<unknown>;
      readonly presigned?: undefined;
      readonly sendBy?: undefined;
    }
  | { readonly presigned: SignedRequest; readonly sendBy: Timestamp };

/** One call. Read it from top to bottom, since it prepares, signs, attempts, and reads. One place turns a failure into an error. */
export class Call extends CallReport {
  readonly #isPresigned: boolean;
  readonly #isSigned: boolean;
  readonly #deadline: Deadline;
  readonly #maxRetries: number;

  /**
   * Reads all of the input, so later changes to it don't reach the request.
   *
   * @throws {InvalidArgumentError} when an option, a header, or the input can't be used.
   */
  constructor(
    client: CallContext,
    operation: AnyOperation,
    source: CallSource,
    options: ParsedOptions,
    isSigned: boolean,
  ) {
    const { headers: own, query, maxRetries = client.maxRetries, timeoutMs = client.timeoutMs, signal } = options;
    const headers = own === undefined ? client.headers : { ...client.headers, ...checkHeaders(own) };
    const { presigned, sendBy } = source;
    const request =
      source.presigned === undefined
        ? prepareRequest(client, operation, source.ids, query === undefined ? source.input : { query })
        : presignedRequest(client, source.presigned);
    const kind = operationKind(operation, isSigned);
    super({ client, operation, kind, headers, request, signature: presigned?.signature });
    this.#isPresigned = presigned !== undefined;
    this.#isSigned = isSigned;
    this.#maxRetries = maxRetries;
    this.#deadline = new Deadline({ timeoutMs, signal, sendBy });
  }

  /** The data of the response, or the error that says what was done. */
  run(): Promise<unknown> {
    return this.client.reporter.follow(
      () => this.#part(),
      () => this.#run(),
    );
  }

  /**
   * Signs the request, if it is to be signed, and doesn't send it.
   *
   * @param trial is signed instead, to try out the key.
   */
  async sign(trial?: Partial<PreparedRequest>): Promise<SignedRequest> {
    const { path, text: body } = this.request;
    try {
      if (this.#isSigned) await this.#sign(trial);
      return { path, body, signature: this.signature ?? "" };
    } catch (error) {
      throw await this.#toError(failureOfThrown(error));
    } finally {
      this.#deadline.finish();
    }
  }

  async #run(): Promise<unknown> {
    const { inFlight } = this.client;
    inFlight.begin();
    try {
      const outcome = await this.#perform().catch(failureOfThrown);
      if (!("data" in outcome)) throw traceFrom(await this.#toError(outcome), this.#run);
      this.ended();
      return outcome.data;
    } finally {
      inFlight.end();
      this.#deadline.finish();
    }
  }

  /** Signs once. A retry has the same bytes and the same signature. An attempt with a renewed token isn't a retry. */
  async #perform(): Promise<Outcome | Thrown> {
    const { reporter, schemas, tokens } = this.client;
    await schemas.load();
    this.#deadline.assertNotEnded();
    if (this.#isSigned) await this.#sign();
    let retries = 0;
    let renewed: string | undefined;
    for (;;) {
      const token = renewed ?? (await tokens.current(this.#deadline, this.#maxRetries));
      this.tokens.push(token);
      this.attempts += 1;
      const outcome = await reporter.follow(
        () => this.#attemptPart(),
        (followed) => this.#attempt(token, followed),
      );
      if ("error" in outcome) return outcome;
      if ("data" in outcome) {
        tokens.accepted?.(token);
        return outcome;
      }
      this.failure = outcome.class;
      this.isSent ||= outcome.isSent;
      const { reaction, effect } = decisions[outcome.class][this.kind];
      this.effect = worseEffect(this.effect, effect);
      // A proxy may have forwarded a request and still respond itself, so the signer searches before it sends again.
      if (this.#maxRetries === 0 || (this.#isPresigned && outcome.response !== undefined)) {
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

  /** If the call has ended, the signer isn't asked. */
  async #sign(trial?: Partial<PreparedRequest>): Promise<void> {
    const { reporter, signer } = this.client;
    const { signedPath, text } = { ...this.request, ...trial };
    this.#deadline.assertNotEnded();
    if (this.signature !== undefined || signer === undefined) return;
    this.signature = await reporter.follow(
      () => ({ name: "signature", kind: "internal", attributes: {} }),
      () => this.#deadline.race(signer.sign(signedPath, text, this.#deadline)),
    );
  }

  async #attempt(token: string, { headers, note }: Followed): Promise<Outcome | Thrown> {
    const { budget, schemas, transport, validation } = this.client;
    const startMs = clock.monotonicMs();
    let outcome: Outcome | Thrown;
    try {
      const response = await transport.send(this.#toWire(token, headers), this.#deadline);
      note({ "http.response.status_code": response.status });
      this.responded(response, clock.monotonicMs() - startMs);
      outcome = readResponse(this.operation, this.request.values, response, validation, schemas);
    } catch (error) {
      outcome = failureOfThrown(error);
    }
    if ("data" in outcome) {
      budget.giveBack(0.2);
      this.differs(outcome.data, outcome.mismatches);
    } else note({ "error.type": "error" in outcome ? "_OTHER" : outcome.reason });
    return outcome;
  }

  #part(): Part {
    const { name, method, path } = this.operation;
    return { name, kind: "internal", attributes: { "http.request.method": method, "url.template": path.text } };
  }

  #attemptPart(): Part {
    const { client, operation, attempts } = this;
    const resent = { "http.request.resend_count": attempts - 1 || undefined };
    const attributes = { ...this.#part().attributes, ...serverAttributes(client.origin), ...resent };
    return { name: `${operation.method} ${operation.path.text}`, kind: "client", attributes };
  }

  /** The caller's own trace headers replace those of the tracing. */
  #toWire(token: string, traceHeaders: Followed["headers"]): WireRequest {
    const { client, operation, headers: own, kind, request, signature } = this;
    const { origin, maxListBytes, maxRecordBytes, transport } = client;
    const { method, verb } = operation;
    const { path, text } = request;
    const headers: Record<string, string> = {
      ...traceHeaders,
      ...own,
      accept: "application/json",
      authorization: `Bearer ${token}`,
    };
    const isList = verb === "list" || (verb === "request" && method === "GET");
    const encoding = isList ? transport.acceptEncoding : "identity";
    if (encoding !== undefined) headers["accept-encoding"] = encoding;
    // A cached list is out of date.
    if (verb === "list") headers["cache-control"] = "no-cache";
    if (text !== "") headers["content-type"] = "application/json";
    if (signature !== undefined) headers["x-service-signature-base64"] = signature;
    return {
      method,
      origin,
      path,
      headers,
      body: text === "" ? undefined : text,
      repeatable: kind === "read" && this.#maxRetries > 0,
      maxResponseBytes: isList ? maxListBytes : maxRecordBytes,
    };
  }

  /** @returns whether another attempt follows, after the wait before it. */
  async #waitToRetry({ reason, retryAfterMs = 0 }: Failure, retries: number): Promise<boolean> {
    const { budget, random, reporter } = this.client;
    if (retries >= this.#maxRetries) return false;
    const delayMs = Math.max(nextDelayMs(retries, random), retryAfterMs);
    if (delayMs >= this.#deadline.remainingMs() || !budget.take()) return false;
    reporter.emit("retry", { operation: this.operation.name, attempt: this.attempts, reason, delayMs });
    await this.#deadline.sleep(delayMs);
    return true;
  }

  async #toError(failure: Failure | Thrown): Promise<CrossBorderError> {
    const { signedPath, text } = this.request;
    const description = this.#isSigned ? this.client.signer?.describe(signedPath, encodeUtf8(text)) : undefined;
    const error = toError(failure, this, await description?.catch(() => undefined));
    this.ended(error);
    return error;
  }
}
