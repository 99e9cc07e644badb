import {
  ConfigError,
  CrossBorderError,
  type Effect,
  InvalidArgumentError,
  type SentRequest,
  type SignedText,
} from "../errors.js";
import { nextDelayMs } from "../backoff.js";
import { parseRetryAfterMs } from "../retry-after.js";
import type { CallInput, Caller, SignedRequest } from "../resources/caller.js";
import type { Endpoint, TypedEndpoint } from "../resources/endpoint.js";
import type { Waiting } from "../waiting.js";
import { WireFailure } from "../wire-failure.js";
import { type ResponseSlot, toApiPromise } from "./api-promise.js";
import { CallControl } from "./call-control.js";
import {
  brokenTexts,
  type CallFacts,
  errorOfAnswer,
  errorOfFailure,
  errorOfUnusable,
  outcomeUnknown,
} from "./call-errors.js";
import {
  classifyBroken,
  classifyFailure,
  classifyStatus,
  decisions,
  type FailureClass,
  graver,
  kindOf,
  type OperationKind,
} from "./decision.js";
import { type ClientEvents, emit } from "./events.js";
import { checkHeaders } from "./headers.js";
import { encodePathValue, encodeQuery, fillPath, type PathTemplate, parsePathTemplate } from "./path.js";
import type { ApiPromise, RequestOptions } from "./request-options.js";
import { checkRequestOptions } from "./request-options.js";
import type { RetryBudget } from "./retry-budget.js";
import { Schemas } from "./schema.js";
import type { Ending, TransportHandle, WireAnswer, WireRequest } from "./transport.js";

/** How answers are held against the description: `report` tells of differences, `strict` throws on them, `off` does not look. */
export type ValidationMode = "report" | "strict" | "off";

/** Tokens, as functions: which grant they come from is not this folder's business. */
export interface Tokens {
  current(waiting: Waiting): string | Promise<string>;
  renew(used: string, waiting: Waiting): Promise<string>;
}

/** Signatures, as functions. */
export interface Signing {
  /** `ending` tells when nobody waits for the signature any more. */
  sign(path: string, body: Uint8Array, ending: Ending): Promise<string>;
  describe(path: string, body: Uint8Array): SignedText;
}

export interface HttpClientOptions {
  readonly origin: string;
  /** Base path without a slash at its end; may be empty. */
  readonly basePath: string;
  readonly transport: TransportHandle;
  readonly tokens: Tokens;
  readonly signing: Signing | undefined;
  /** Operations that are signed beside those that the description names. */
  readonly signedOperations: ReadonlySet<string>;
  /** Whether the query belongs to the signed text. */
  readonly signQuery: boolean;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
  readonly validation: ValidationMode;
  readonly events: ClientEvents;
  readonly budget: RetryBudget;
  readonly random: () => number;
}

/** Makes calls: from an endpoint's row and its input to the record, or to an error that says what was done. */
export class HttpClient implements Caller {
  readonly #options: HttpClientOptions;
  readonly #templates = new Map<Endpoint, PathTemplate>();
  readonly #reported = new Set<string>();
  #schemas: Schemas | undefined;
  #loading: Promise<Schemas> | undefined;
  #closed = false;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  call<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    input: CallInput<Body>,
    options: RequestOptions | undefined,
  ): ApiPromise<Output> {
    const slot: ResponseSlot = {};
    const data = this.#run(endpoint, options, slot, (schemas) => this.#prepare(schemas, endpoint, input, options ?? {}));
    // The row's type and the row's table of fields are held together by the compiler where the row is written.
    return toApiPromise(data as Promise<Output>, slot);
  }

  async check<Body, Output>(endpoint: TypedEndpoint<Body, Output>, input: CallInput<Body>): Promise<void> {
    this.#prepare(await this.#load(), endpoint, input, {});
  }

  async sign<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    input: CallInput<Body>,
    options: RequestOptions | undefined,
  ): Promise<SignedRequest> {
    const control = this.#open(endpoint, options);
    try {
      const prepared = this.#prepare(await this.#load(), endpoint, input, options ?? {});
      return await new Call(this.#options, prepared, control, {}).toSigned();
    } finally {
      control.finish();
    }
  }

  send<Body, Output>(
    endpoint: TypedEndpoint<Body, Output>,
    request: SignedRequest,
    gate: () => void,
    options: RequestOptions | undefined,
  ): ApiPromise<Output> {
    const slot: ResponseSlot = {};
    const data = this.#run(endpoint, options, slot, () => this.#presigned(endpoint, request, gate, options ?? {}));
    return toApiPromise(data as Promise<Output>, slot);
  }

  assertId(endpoint: Endpoint, index: number, id: unknown): asserts id is string {
    encodePathValue(endpoint.operation, this.#template(endpoint).parameters[index] ?? "id", id);
  }

  assertCallable(endpoint: Endpoint): void {
    const { operation } = endpoint;
    if (this.#isSigned(endpoint) && this.#options.signing === undefined) {
      throw new ConfigError(`${operation} is signed, and the client was built without a signingKey`, { operation });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#options.transport.close();
  }

  async #run(
    endpoint: Endpoint,
    options: RequestOptions | undefined,
    slot: ResponseSlot,
    prepare: (schemas: Schemas) => PreparedCall,
  ): Promise<unknown> {
    const control = this.#open(endpoint, options);
    try {
      const schemas = this.#schemas ?? (await this.#load());
      const call = new Call(this.#options, prepare(schemas), control, slot);
      return await call.run((data) => this.#compare(schemas, endpoint, data));
    } finally {
      control.finish();
    }
  }

  #open({ operation }: Endpoint, options: RequestOptions = {}): CallControl {
    checkRequestOptions(operation, options);
    if (this.#closed) throw new InvalidArgumentError(`${operation}: the client is closed`, { code: "client_closed" });
    return new CallControl({
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs,
      maxRetries: options.maxRetries ?? this.#options.maxRetries,
      signal: options.signal,
    });
  }

  async #load(): Promise<Schemas> {
    this.#loading ??= Schemas.load();
    this.#schemas = await this.#loading;
    return this.#schemas;
  }

  /** Everything that can be wrong with the caller's input is found here, before any I/O. */
  #prepare(
    schemas: Schemas,
    endpoint: Endpoint,
    input: CallInput<unknown>,
    options: RequestOptions,
  ): PreparedCall {
    const { operation } = endpoint;
    const { signQuery, signing, maxListBytes, maxRecordBytes, origin } = this.#options;
    const pathname = fillPath(this.#template(endpoint), operation, input.path);
    const query = schemas.checkQuery(endpoint, input.query ?? {});
    const path = pathname + encodeQuery(operation, { ...input.paging, ...query });
    const fields = endpoint.body === undefined ? undefined : schemas.checkBody(operation, endpoint.body, input.body);
    this.assertCallable(endpoint);
    return {
      endpoint,
      kind: kindOf(endpoint.method),
      origin,
      path,
      signedPath: signQuery ? path : pathname,
      signing: this.#isSigned(endpoint) ? signing : undefined,
      body: fields === undefined ? "" : serialise(operation, fields),
      headers: checkHeaders(options.headers),
      maxResponseBytes: endpoint.verb === "list" ? maxListBytes : maxRecordBytes,
      secrets: [...secretValues(query), ...secretValues(fields ?? {})],
    };
  }

  /** A call whose request was made by `sign`, maybe in another process. */
  #presigned(endpoint: Endpoint, request: SignedRequest, gate: () => void, options: RequestOptions): PreparedCall {
    const { signQuery, signing, maxRecordBytes, origin } = this.#options;
    return {
      endpoint,
      kind: kindOf(endpoint.method),
      origin,
      path: request.path,
      signedPath: signQuery ? request.path : (request.path.split("?")[0] ?? request.path),
      signing,
      signature: request.signature,
      gate,
      body: request.body,
      headers: checkHeaders(options.headers),
      maxResponseBytes: maxRecordBytes,
      secrets: secretValues(JSON.parse(request.body)),
    };
  }

  /** What is wrong with a 2xx's data, after the differences that are only reported. */
  #compare(schemas: Schemas, endpoint: Endpoint, data: unknown): string | undefined {
    const { validation, events } = this.#options;
    const { operation, verb, record } = endpoint;
    if (record === undefined) return undefined;
    if (verb === "list" ? !isArrayOfObjects(data) : !isObject(data)) {
      return verb === "list" ? "it is not an array of records" : "it is not a record";
    }
    if (validation === "off") return undefined;
    const mismatches = schemas.mismatches(endpoint, record, data);
    for (const mismatch of mismatches) {
      const key = `${operation} ${mismatch.field}`;
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      emit(events, "mismatch", { operation, ...mismatch });
    }
    const [first] = mismatches;
    if (validation !== "strict" || first === undefined) return undefined;
    return `${first.field} is not ${first.expected} but ${first.found}`;
  }

  #isSigned(endpoint: Endpoint): boolean {
    return endpoint.signed === true || this.#options.signedOperations.has(endpoint.operation);
  }

  #template(endpoint: Endpoint): PathTemplate {
    let template = this.#templates.get(endpoint);
    if (template === undefined) {
      template = parsePathTemplate(this.#options.basePath, endpoint.path);
      this.#templates.set(endpoint, template);
    }
    return template;
  }
}

/** A call whose input is in order. */
interface PreparedCall {
  readonly endpoint: Endpoint;
  readonly kind: OperationKind;
  readonly origin: string;
  /** Path and query as they stand in the request line. */
  readonly path: string;
  readonly signedPath: string;
  readonly signing: Signing | undefined;
  /** Where it was signed before. */
  readonly signature?: string;
  /** The caller's last gate. */
  readonly gate?: () => void;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxResponseBytes: number;
  readonly secrets: readonly string[];
}

/** An attempt that ended badly: what it was, and the error that it becomes if it was the last. */
interface Failed {
  readonly class: FailureClass;
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
  toError(facts: CallFacts): CrossBorderError;
}

/** One call from its first attempt to its last. */
class Call {
  readonly #client: HttpClientOptions;
  readonly #call: PreparedCall;
  readonly #control: CallControl;
  readonly #slot: ResponseSlot;
  readonly #body: Uint8Array | undefined;
  #signature: string | undefined;
  #attempts = 0;
  /** What the attempts so far may have done. */
  #effect: Effect = "none";
  #token = "";

  constructor(client: HttpClientOptions, call: PreparedCall, control: CallControl, slot: ResponseSlot) {
    this.#client = client;
    this.#call = call;
    this.#control = control;
    this.#slot = slot;
    this.#body = call.endpoint.method === "GET" ? undefined : Buffer.from(call.body);
    this.#signature = call.signature;
  }

  async toSigned(): Promise<SignedRequest> {
    try {
      await this.#sign();
    } catch (error) {
      throw this.#final(error);
    }
    return { path: this.#call.path, body: this.#call.body, signature: this.#signature ?? "" };
  }

  async run(problemOf: (data: unknown) => string | undefined): Promise<unknown> {
    try {
      await this.#sign();
      return await this.#attemptAll(problemOf);
    } catch (error) {
      throw this.#final(error);
    }
  }

  /** Signed once: an attempt that is repeated carries the same bytes and the same signature. */
  async #sign(): Promise<void> {
    const { signing, signedPath } = this.#call;
    if (signing === undefined || this.#signature !== undefined) return;
    const signature = signing.sign(signedPath, this.#body ?? new Uint8Array(), this.#control);
    this.#signature = await this.#control.race(signature);
  }

  async #attemptAll(problemOf: (data: unknown) => string | undefined): Promise<unknown> {
    let renewed: string | undefined;
    for (;;) {
      this.#token = renewed ?? (await this.#client.tokens.current(this.#control));
      const outcome = await this.#attempt(problemOf);
      if (!("class" in outcome)) return outcome.data;
      const decision = decisions[outcome.class][this.#call.kind];
      this.#effect = graver(this.#effect, decision.effect);
      if (decision.reaction === "renew-token") {
        if (renewed !== undefined || this.#control.maxRetries === 0) throw outcome.toError(this.#facts());
        renewed = await this.#client.tokens.renew(this.#token, this.#control);
        continue;
      }
      renewed = undefined;
      if (decision.reaction === "fail" || !(await this.#pause(outcome))) throw outcome.toError(this.#facts());
    }
  }

  /** Waits before another attempt; false when there is to be none. */
  async #pause(failed: Failed): Promise<boolean> {
    const { budget, random, events } = this.#client;
    const attempt = this.#attempts;
    if (attempt > this.#control.maxRetries) return false;
    const delayMs = Math.max(nextDelayMs(attempt - 1, random), failed.retryAfterMs ?? 0);
    if (delayMs >= this.#control.remainingMs() || !budget.take()) return false;
    emit(events, "retry", { operation: this.#call.endpoint.operation, attempt, reason: failed.reason, delayMs });
    await this.#control.sleep(delayMs);
    return true;
  }

  async #attempt(problemOf: (data: unknown) => string | undefined): Promise<Failed | { readonly data: unknown }> {
    this.#attempts += 1;
    const startMs = performance.now();
    let answer: WireAnswer;
    try {
      answer = await this.#client.transport.send(this.#wireRequest(), this.#control);
    } catch (error) {
      if (!(error instanceof WireFailure)) throw error;
      return {
        class: classifyFailure(error),
        reason: error.reason,
        toError: (facts) => errorOfFailure(error, facts),
      };
    }
    this.#tell(answer, performance.now() - startMs);
    return this.#read(answer, problemOf);
  }

  #read(answer: WireAnswer, problemOf: (data: unknown) => string | undefined): Failed | { readonly data: unknown } {
    const failure = classifyStatus(answer.status);
    if (failure !== undefined) {
      const retryAfterMs = parseRetryAfterMs(answer.headers["retry-after"], Date.now());
      return {
        class: failure,
        reason: String(answer.status),
        retryAfterMs,
        toError: (facts) => errorOfAnswer(answer, retryAfterMs, facts),
      };
    }
    this.#client.budget.giveBack();
    // The description gives the answer to an update no body: whatever it holds, the update is done.
    if (this.#call.endpoint.verb === "update") return { data: undefined };
    if (answer.broken !== undefined) {
      return unusable(answer, classifyBroken(answer.broken), brokenTexts[answer.broken]);
    }
    let data: unknown;
    try {
      data = JSON.parse(answer.text);
    } catch {
      return unusable(answer, "unreadable", "it is not JSON");
    }
    const problem = problemOf(data);
    return problem === undefined ? { data } : unusable(answer, "unreadable", problem);
  }

  #wireRequest(): WireRequest {
    const { endpoint, origin, path, headers, maxResponseBytes, gate: beforeSend } = this.#call;
    const own: Record<string, string> = { ...headers, accept: "application/json", authorization: `Bearer ${this.#token}` };
    if (this.#body !== undefined) own["content-type"] = "application/json";
    if (this.#signature !== undefined) own["x-service-signature-base64"] = this.#signature;
    return { method: endpoint.method, origin, path, headers: own, body: this.#body, maxResponseBytes, beforeSend };
  }

  #tell({ status, headers }: WireAnswer, durationMs: number): void {
    const requestId = headers["x-request-id"];
    const response = { status, headers, ...(requestId === undefined ? undefined : { requestId }) };
    this.#slot.response = response;
    const { operation, method, path } = this.#call.endpoint;
    emit(this.#client.events, "answer", {
      operation,
      method,
      path,
      status,
      attempt: this.#attempts,
      durationMs,
      ...(requestId === undefined ? undefined : { requestId }),
    });
  }

  /** Whatever ended the call, told together with what the attempts before it may have done. */
  #final(error: unknown): unknown {
    if (error instanceof WireFailure) return errorOfFailure(error, this.#facts());
    if (this.#effect === "possible" && error instanceof CrossBorderError && error.effect === "none") {
      const what = `${this.#call.endpoint.operation}: an earlier attempt had no answer, and the last one failed`;
      return outcomeUnknown(what, this.#facts(), error);
    }
    return error;
  }

  #facts(): CallFacts {
    const { endpoint, origin, signing, signedPath, path, body, secrets } = this.#call;
    const request: SentRequest = {
      path,
      body,
      ...(this.#signature === undefined ? undefined : { signature: this.#signature }),
    };
    return {
      operation: endpoint.operation,
      origin,
      attempts: this.#attempts,
      effect: this.#effect,
      request,
      signed: signing?.describe(signedPath, this.#body ?? new Uint8Array()),
      secrets: [this.#token, ...secrets],
    };
  }
}

function unusable(answer: WireAnswer, failure: FailureClass, problem: string): Failed {
  return {
    class: failure,
    reason: problem,
    toError: (facts) =>
      failure === "ended-reading" && facts.effect === "none"
        ? errorOfFailure(
            new WireFailure({ kind: answer.broken === "abort" ? "abort" : "timeout", sent: true, reason: "READING" }),
            facts,
          )
        : errorOfUnusable(answer, problem, facts),
  };
}

function serialise(operation: string, fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields);
  } catch {
    throw new InvalidArgumentError(`${operation}: the body holds what JSON can't: a BigInt, or an object inside itself`);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isArrayOfObjects(value: unknown): value is object[] {
  return Array.isArray(value) && value.every(isObject);
}

/** Values that may stand in no message, although the service may repeat them in one. */
function secretValues(fields: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    secretFields.has(name) && typeof value === "string" ? [value] : [],
  );
}

const secretFields: ReadonlySet<string> = new Set([
  "accountVerificationBearerToken",
  "senderAccount",
  "senderName",
  "receiverAccount",
  "receiverName",
]);
