import type { SignedRequest } from "../api/api-client.js";
import { type ClientEvents, emit } from "../api/client-events.js";
import type { Endpoint } from "../api/endpoint.js";
import { CrossBorderError, type Effect, type SentRequest, type SignedText } from "../errors/errors.js";
import { redactText } from "../errors/redact.js";
import { nextDelayMs } from "../timing/backoff.js";
import type { CallControl } from "../timing/deadline.js";
import { parseRetryAfterMs } from "../timing/retry-after.js";
import type { Waiting } from "../timing/waiting.js";
import type { Ending, TransportHandle, WireRequest, WireResponse } from "../wire/transport.js";
import { WireFailure } from "../wire/wire-failure.js";
import type { ResponseSlot } from "./api-promise.js";
import {
  brokenTexts,
  type CallFacts,
  errorOfFailure,
  errorOfResponse,
  errorOfUnusable,
  outcomeUnknown,
} from "./call-errors.js";
import {
  classifyBroken,
  classifyFailure,
  classifyStatus,
  decisions,
  type FailureClass,
  type OperationKind,
  worseEffect,
} from "./decision.js";
import type { RetryBudget } from "./retry-budget.js";

/** Tokens, as functions: which grant they come from is not this folder's business. */
export interface Tokens {
  /** Begins to load what the first token request will need. Asks for nothing, and never throws. */
  preload?(): void;
  current(waiting: Waiting): string | Promise<string>;
  renew(used: string, waiting: Waiting): Promise<string>;
}

/** Signatures, as functions. */
export interface Signing {
  /** `ending` tells when nobody waits for the signature any more. */
  sign(path: string, body: Uint8Array, ending: Ending): Promise<string>;
  describe(path: string, body: Uint8Array): SignedText;
}

/** What a call needs of the client that makes it. */
export interface CallContext {
  readonly transport: TransportHandle;
  readonly tokens: Tokens;
  readonly events: ClientEvents;
  readonly budget: RetryBudget;
  readonly random: () => number;
}

/** A call whose input is in order. */
export interface PreparedCall {
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
  /** Values that may stand in no message. */
  secrets(): readonly string[];
}

/** An attempt that ended badly: what it was, and the error that it becomes if it was the last. */
interface Failed {
  readonly class: FailureClass;
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
  toError(facts: CallFacts): CrossBorderError;
}

/** One call from its first attempt to its last. */
export class Call {
  readonly #client: CallContext;
  readonly #call: PreparedCall;
  readonly #control: CallControl;
  readonly #slot: ResponseSlot;
  readonly #body: Uint8Array | undefined;
  #signature: string | undefined;
  #attempts = 0;
  /** Attempts that repeated a failed one; that with a renewed token is none of them. */
  #retries = 0;
  /** What the attempts so far may have done. */
  #effect: Effect = "none";
  #token = "";
  /** The token that a 401 made this call give up. */
  #refusedToken = "";

  constructor(client: CallContext, call: PreparedCall, control: CallControl, slot: ResponseSlot) {
    this.#client = client;
    this.#call = call;
    this.#control = control;
    this.#slot = slot;
    this.#body = call.endpoint.method === "GET" ? undefined : Buffer.from(call.body);
    this.#signature = call.signature;
  }

  async toSigned(): Promise<SignedRequest> {
    try {
      this.#assertGoingOn();
      await this.#sign();
    } catch (error) {
      throw this.#final(error);
    }
    return { path: this.#call.path, body: this.#call.body, signature: this.#signature ?? "" };
  }

  async run(problemOf: (data: unknown) => string | undefined): Promise<unknown> {
    try {
      this.#assertGoingOn();
      await this.#sign();
      return await this.#attemptAll(problemOf);
    } catch (error) {
      throw this.#final(error);
    }
  }

  /** A call that is over before it began asks nobody for a signature or a token. */
  #assertGoingOn(): void {
    const kind = this.#control.ended;
    if (kind !== undefined) throw new WireFailure({ kind, sent: false, reason: "ENDED" });
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
      this.#effect = worseEffect(this.#effect, decision.effect);
      if (decision.reaction === "renew-token") {
        if (renewed !== undefined || this.#control.maxRetries === 0) throw outcome.toError(this.#facts());
        this.#refusedToken = this.#token;
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
    if (this.#retries >= this.#control.maxRetries) return false;
    const delayMs = Math.max(nextDelayMs(this.#retries, random), failed.retryAfterMs ?? 0);
    if (delayMs >= this.#control.remainingMs() || !budget.take()) return false;
    this.#retries += 1;
    const { operation } = this.#call.endpoint;
    emit(events, "retry", { operation, attempt: this.#attempts, reason: failed.reason, delayMs });
    await this.#control.sleep(delayMs);
    return true;
  }

  async #attempt(problemOf: (data: unknown) => string | undefined): Promise<Failed | { readonly data: unknown }> {
    this.#attempts += 1;
    const startMs = performance.now();
    let response: WireResponse;
    try {
      response = await this.#client.transport.send(this.#wireRequest(), this.#control);
    } catch (error) {
      if (!(error instanceof WireFailure)) throw error;
      return {
        class: classifyFailure(error),
        reason: error.reason,
        toError: (facts) => errorOfFailure(error, facts),
      };
    }
    this.#tell(response, performance.now() - startMs);
    return this.#read(response, problemOf);
  }

  #read(response: WireResponse, problemOf: (data: unknown) => string | undefined): Failed | { readonly data: unknown } {
    const failure = classifyStatus(response.status);
    if (failure !== undefined) {
      const retryAfterMs = parseRetryAfterMs(response.headers["retry-after"], Date.now());
      return {
        class: failure,
        reason: String(response.status),
        retryAfterMs,
        toError: (facts) => errorOfResponse(response, retryAfterMs, facts),
      };
    }
    this.#client.budget.giveBack();
    // The description gives the response to an update no body: whatever it holds, the update is done.
    if (this.#call.endpoint.verb === "update") return { data: undefined };
    if (response.broken !== undefined) {
      return unusable(response, classifyBroken(response.broken), brokenTexts[response.broken]);
    }
    let data: unknown;
    try {
      data = JSON.parse(response.text);
    } catch {
      return unusable(response, "unreadable", "it is not JSON");
    }
    const problem = problemOf(data);
    return problem === undefined ? { data } : unusable(response, "unreadable", problem);
  }

  #wireRequest(): WireRequest {
    const { endpoint, origin, path, headers, maxResponseBytes, gate: beforeSend } = this.#call;
    const own: Record<string, string> = {
      ...headers,
      accept: "application/json",
      authorization: `Bearer ${this.#token}`,
    };
    if (this.#body !== undefined) own["content-type"] = "application/json";
    if (this.#signature !== undefined) own["x-service-signature-base64"] = this.#signature;
    return { method: endpoint.method, origin, path, headers: own, body: this.#body, maxResponseBytes, beforeSend };
  }

  #tell({ status, headers }: WireResponse, durationMs: number): void {
    const requestId = this.#requestId(headers["x-request-id"]);
    const withId = requestId === undefined ? undefined : { requestId };
    this.#slot.response = { status, headers, ...withId };
    if (this.#client.events.response === undefined) return;
    const { operation, method, path } = this.#call.endpoint;
    const attempt = this.#attempts;
    emit(this.#client.events, "response", { operation, method, path, status, attempt, durationMs, ...withId });
  }

  /** As it is sent, unless it is no id but something that the request holds in secret. */
  #requestId(sent: string | undefined): string | undefined {
    if (sent === undefined || !/^[\w.:/+=-]{1,128}$/.test(sent)) return undefined;
    return redactText(sent, this.#secrets()) === sent ? sent : undefined;
  }

  /** Whatever ended the call, told together with what the attempts before it may have done. */
  #final(error: unknown): CrossBorderError {
    const { operation } = this.#call.endpoint;
    if (error instanceof WireFailure) return errorOfFailure(error, this.#facts());
    if (error instanceof CrossBorderError) {
      if (this.#effect !== "possible" || error.effect !== "none") return error;
      const what = `${operation}: an earlier attempt had no response, and the last one failed`;
      return outcomeUnknown(what, this.#facts(), error);
    }
    const what = `${operation}: something failed that was not to be expected`;
    if (this.#attempts > 0 && this.#call.kind !== "read") return outcomeUnknown(what, this.#facts(), error);
    return new CrossBorderError(what, {
      code: "unexpected_failure",
      operation,
      attempts: this.#attempts,
      cause: error,
    });
  }

  #secrets(): string[] {
    return [this.#token, this.#refusedToken, ...this.#call.secrets()];
  }

  #facts(): CallFacts {
    const { endpoint, origin, signing, signedPath, path, body } = this.#call;
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
      secrets: this.#secrets(),
    };
  }
}

function unusable(response: WireResponse, failure: FailureClass, problem: string): Failed {
  return {
    class: failure,
    reason: failure,
    toError: (facts) =>
      failure === "ended-reading" && facts.effect === "none"
        ? errorOfFailure(
            new WireFailure({ kind: response.broken === "abort" ? "abort" : "timeout", sent: true, reason: "READING" }),
            facts,
          )
        : errorOfUnusable(response, problem, facts),
  };
}
