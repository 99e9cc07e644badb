import { confidentialValues, failedStatuses } from "../api/fields.js";
import type { AnyOperation } from "../api/operation.js";
import type { ResponseInfo } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import type { CrossBorderError } from "../core/errors.js";
import { isShowable } from "../core/redact.js";
import type { WireResponse } from "../wire/transport.js";
import type { CallContext } from "./context.js";
import { type CallFacts, toError } from "./errors.js";
import type { PreparedRequest } from "./prepare.js";
import { textsIn } from "./raw.js";
import type { Failure } from "./read.js";
import type { Mismatch } from "./schema.js";

/** Events and errors of one call. They hold nothing that the request kept secret. */
export class CallReport {
  readonly #client: CallContext;
  readonly #operation: AnyOperation;
  /** The caller's own. Some of them carry credentials. */
  readonly #headers: Readonly<Record<string, string>>;
  readonly #values: PreparedRequest["values"];
  readonly #tokens: string[] = [];
  readonly #startMs = clock.monotonicMs();
  /** Without the text, since the promise of a call keeps this alive. */
  #response: Pick<WireResponse, "status" | "headers"> | undefined;
  /** From the last response that had one. */
  #sentRequestId: string | undefined;

  constructor(
    client: CallContext,
    operation: AnyOperation,
    headers: Readonly<Record<string, string>>,
    values: PreparedRequest["values"],
  ) {
    this.#client = client;
    this.#operation = operation;
    this.#headers = headers;
    this.#values = values;
  }

  /** The last response, if there was one. */
  get response(): ResponseInfo | undefined {
    return this.#response && { ...this.#response, ...this.#ownRequestId() };
  }

  hideToken(token: string): void {
    this.#tokens.push(token);
  }

  responded({ status, headers }: WireResponse, attempt: number, durationMs: number): void {
    this.#response = { status, headers };
    this.#sentRequestId = headers[requestIdHeader] ?? this.#sentRequestId;
    const { reporter } = this.#client;
    if (!reporter.wants("response")) return;
    reporter.emit("response", { ...this.#named(), status, attempt, durationMs, ...this.#ownRequestId() });
  }

  /** Reports each field of an operation once in the life of a client, which remembers at most 1,000. */
  differs(mismatches: readonly Mismatch[]): void {
    const { reporter, reported } = this.#client;
    const { name: operation } = this.#operation;
    for (const mismatch of mismatches) {
      // Reported fields have no spaces.
      const key = `${mismatch.field} ${operation}`;
      if (reported.has(key) || reported.size >= maxReported) continue;
      reported.add(key);
      reporter.emit("mismatch", { operation, ...mismatch });
    }
  }

  /** A created payment that says that it failed is recorded anyway. */
  failedStatuses(data: unknown): void {
    const { verb, name: operation } = this.#operation;
    if (verb !== "create") return;
    for (const field of failedStatuses(this.#operation.record, data)) {
      const found = String(Reflect.get(Object(data), field));
      this.#client.reporter.emit("mismatch", { operation, field, expected: "pending or processed", found });
    }
  }

  willRetry(reason: string, attempt: number, delayMs: number): void {
    this.#client.reporter.emit("retry", { operation: this.#operation.name, attempt, reason, delayMs });
  }

  succeeded(attempts: number): void {
    const { reporter } = this.#client;
    if (!reporter.wants("success")) return;
    const durationMs = clock.monotonicMs() - this.#startMs;
    const { status = 0 } = this.#response ?? {};
    reporter.emit("success", { ...this.#named(), status, attempts, durationMs, ...this.#ownRequestId() });
  }

  /** @returns the error to be thrown. */
  failed(
    failure: Failure,
    known: Pick<CallFacts, "kind" | "attempts" | "effect" | "isSent" | "request" | "signed">,
  ): CrossBorderError {
    const { origin, basePath, reporter } = this.#client;
    const sent = this.#requestId();
    const { status } = this.#response ?? {};
    const where = { operation: this.#operation, origin, basePath };
    const error = toError(failure, { ...known, ...where, ...sent, status, secrets: this.#hidden() });
    const { code, effect, attempts = 0, requestId } = error;
    reporter.emit("failure", {
      ...this.#named(),
      code,
      effect,
      attempts,
      durationMs: clock.monotonicMs() - this.#startMs,
      ...(requestId !== undefined && { requestId }),
      ...(error.status !== undefined && { status: error.status }),
    });
    return error;
  }

  #named() {
    const { name: operation, method, path } = this.#operation;
    return { operation, method, path: path.text };
  }

  /** The id that the last response had. */
  #ownRequestId(): { readonly requestId: string } | undefined {
    return this.#response?.headers[requestIdHeader] === undefined ? undefined : this.#requestId();
  }

  /** As it was sent, unless it holds something that the request keeps secret. */
  #requestId(): { readonly requestId: string } | undefined {
    const sent = this.#sentRequestId;
    const isId = sent !== undefined && /^[\x20-\x7e]{1,128}$/.test(sent) && isShowable(sent, this.#hidden());
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

const maxReported = 1000;
const requestIdHeader = "x-request-id";

/** Names of headers that carry credentials. */
const credential = /auth|cookie|credential|key|password|secret|token/;
