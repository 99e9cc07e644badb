import { confidentialValues, type FieldTable, failedStatuses } from "../api/fields.js";
import type { AnyOperation } from "../api/operation.js";
import type { ResponseInfo } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import type { CrossBorderError } from "../core/errors.js";
import { isShowable } from "../core/redact.js";
import type { FailureEvent } from "../events/events.js";
import type { Reporter } from "../events/reporter.js";
import type { WireResponse } from "../wire/transport.js";
import type { CallContext } from "./context.js";
import { type CallFacts, showableReason, toError } from "./errors.js";
import { textsIn } from "./raw.js";
import type { Failure } from "./read.js";
import { type Mismatch, unprintable } from "./schema.js";

export type KnownByCall = Pick<CallFacts, "kind" | "attempts" | "effect" | "isSent" | "request" | "signed">;

/** Events and errors of one call. They hold nothing that the request kept secret. */
export class CallReport {
  readonly #client: CallContext;
  readonly #operation: AnyOperation;
  /** The caller's own. Some of them carry credentials. */
  readonly #headers: Readonly<Record<string, string>>;
  readonly #tokens: string[] = [];
  /** What body and query held, by field. */
  #values: Readonly<Record<string, unknown>> = {};
  readonly #startMs = clock.monotonicMs();
  /** Without the text, since the promise of a call keeps this alive. */
  #response: Pick<WireResponse, "status" | "headers"> | undefined;
  #latencyMs: number | undefined;
  /** From the last response that had one. */
  #sentRequestId: string | undefined;

  constructor(client: CallContext, operation: AnyOperation, headers: Readonly<Record<string, string>>) {
    this.#client = client;
    this.#operation = operation;
    this.#headers = headers;
  }

  /** The last response, if there was one. */
  get response(): ResponseInfo | undefined {
    if (this.#response === undefined) return undefined;
    const { status, headers } = this.#response;
    return { status, headers, ...(headers[requestIdHeader] !== undefined && this.#requestId()) };
  }

  /** Of the last attempt that got a response. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  /** Keeps confidential values of body and query out of events and errors. */
  hideValues(values: Readonly<Record<string, unknown>>): void {
    this.#values = values;
  }

  hideToken(token: string): void {
    this.#tokens.push(token);
  }

  showableReason(reason: string): string {
    return showableReason(reason, this.#hidden());
  }

  responded({ status, headers }: WireResponse, attempt: number, durationMs: number): void {
    this.#response = { status, headers };
    this.#client.hasResponded = true;
    this.#latencyMs = durationMs;
    this.#sentRequestId = headers[requestIdHeader] ?? this.#sentRequestId;
    const { reporter } = this.#client;
    if (!reporter.wants("response")) return;
    const requestId = headers[requestIdHeader] === undefined ? undefined : this.#requestId();
    reporter.emit("response", { ...named(this.#operation), status, attempt, durationMs, ...requestId });
  }

  /** Each field of an operation once in the life of a client, which remembers so many and no more. */
  differs(mismatches: readonly Mismatch[]): void {
    const { reporter, reported } = this.#client;
    const { name: operation } = this.#operation;
    for (const mismatch of mismatches) {
      if (!reported.isNew(operation, mismatch.field)) continue;
      const isShown = mismatch.field === unprintable || isShowable(mismatch.field, this.#hidden());
      if (isShown) reporter.emit("mismatch", { operation, ...mismatch });
      else if (reported.isNew(operation, unprintable)) {
        reporter.emit("mismatch", { operation, ...mismatch, field: unprintable });
      }
    }
  }

  /** A created payment that says that it failed is recorded anyway. */
  failedStatuses(record: FieldTable, data: unknown): void {
    const { name: operation } = this.#operation;
    for (const field of failedStatuses(record, data)) {
      const found = String(Reflect.get(Object(data), field));
      this.#client.reporter.emit("mismatch", { operation, field, expected: "pending or processed", found });
    }
  }

  willRetry(reason: string, attempt: number, delayMs: number): void {
    const { name: operation } = this.#operation;
    this.#client.reporter.emit("retry", { operation, attempt, reason: this.showableReason(reason), delayMs });
  }

  succeeded(attempts: number): void {
    const { reporter } = this.#client;
    if (!reporter.wants("success")) return;
    const durationMs = clock.monotonicMs() - this.#startMs;
    const { status = 0, requestId } = this.response ?? {};
    const ofResponse = requestId === undefined ? undefined : { requestId };
    reporter.emit("success", { ...named(this.#operation), status, attempts, durationMs, ...ofResponse });
  }

  /** @returns the error to be thrown. */
  failed(failure: Failure, known: KnownByCall): CrossBorderError {
    const { origin, basePath, hasResponded, reporter } = this.#client;
    const error = toError(failure, {
      ...known,
      ...this.#requestId(),
      operation: this.#operation,
      origin,
      basePath,
      hasResponded,
      status: this.#response?.status,
      secrets: this.#hidden(),
    });
    reportFailure(reporter, named(this.#operation), error, this.#startMs);
    return error;
  }

  /** As it was sent, unless it holds something that the request keeps secret. */
  #requestId(): { readonly requestId: string } | undefined {
    const sent: unknown = this.#sentRequestId;
    const isId = typeof sent === "string" && /^[\x20-\x7e]{1,128}$/.test(sent) && isShowable(sent, this.#hidden());
    return isId ? { requestId: sent } : undefined;
  }

  #hidden(): string[] {
    // Raw requests have no table of fields, so any value may be an account.
    const operation = this.#operation;
    const confidential =
      operation.verb === "request" ? textsIn(this.#values) : confidentialValues(operation.record, this.#values);
    const credentials = Object.entries(this.#headers).flatMap(([name, value]) => (credential.test(name) ? value : []));
    return [...credentials, ...this.#tokens, ...confidential];
  }
}

/** Reports the failure of a call, or of a token requested outside a call. */
export function reportFailure(
  reporter: Reporter,
  what: Pick<FailureEvent, "operation" | "method" | "path">,
  error: CrossBorderError,
  startMs: number,
): void {
  const { code, effect, attempts = 0, requestId, status } = error;
  reporter.emit("failure", {
    ...what,
    code,
    effect,
    attempts,
    durationMs: clock.monotonicMs() - startMs,
    ...(requestId === undefined ? undefined : { requestId }),
    ...(status === undefined ? undefined : { status }),
  });
}

function named({ name: operation, method, path }: AnyOperation) {
  return { operation, method, path: path.text };
}

const requestIdHeader = "x-request-id";

/** Names of headers that carry credentials. */
const credential = /auth|cookie|credential|key|password|secret|token/;
