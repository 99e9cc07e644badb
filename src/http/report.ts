import { confidentialTexts, failedStatuses } from "../api/fields.js";
import type { AnyOperation } from "../api/operation.js";
import type { ResponseInfo } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import type { CrossBorderError, Effect } from "../core/errors.js";
import { isShowable } from "../core/redact.js";
import type { Reported } from "../events/reporter.js";
import type { WireResponse } from "../wire/transport.js";
import type { CallContext } from "./context.js";
import type { FailureClass, OperationKind } from "./decision.js";
import type { PreparedRequest } from "./prepare.js";
import type { Mismatch } from "./schema.js";

type CallEvent = "response" | "success" | "failure";

/** What is known of one call, for its events and its error. They show nothing that the request kept secret. */
export class CallReport {
  declare readonly client: CallContext;
  declare readonly operation: AnyOperation;
  declare readonly kind: OperationKind;
  /** The caller's own. Some of them carry credentials. */
  declare readonly headers: Readonly<Record<string, string>>;
  declare readonly request: PreparedRequest;
  /** Once it is made. */
  declare signature: string | undefined;
  readonly tokens: string[] = [];
  attempts = 0;
  /** Of all attempts together. */
  effect: Effect = "none";
  /** Whether any byte of any attempt may have left. */
  isSent = false;
  /** How the last attempt failed. */
  failure: FailureClass | undefined;
  /** The last response, without its text, since the promise of a call keeps this alive. */
  received: (Pick<WireResponse, "status" | "headers"> & { readonly durationMs: number }) | undefined;
  readonly #startMs = clock.monotonicMs();

  constructor(known: Pick<CallReport, "client" | "operation" | "kind" | "headers" | "request" | "signature">) {
    Object.assign(this, known);
  }

  /** The last response, for the caller. */
  get response(): ResponseInfo | undefined {
    if (this.received === undefined) return undefined;
    const { status, headers } = this.received;
    return { status, headers, ...this.requestId() };
  }

  responded({ status, headers }: WireResponse, durationMs: number): void {
    this.received = { status, headers, durationMs };
    this.#emit("response", { status, attempt: this.attempts, durationMs });
  }

  /** Reports each field of an operation once in the life of a client, which remembers at most 1,000. */
  differs(mismatches: readonly Mismatch[]): void {
    const { reporter, reported } = this.client;
    const { name: operation } = this.operation;
    for (const mismatch of mismatches) {
      // Reported fields have no spaces.
      const key = `${mismatch.field} ${operation}`;
      if (reported.has(key) || reported.size >= maxReported) continue;
      reported.add(key);
      reporter.emit("mismatch", { operation, ...mismatch });
    }
  }

  /** A payment that says that it failed is reported each time. */
  created(record: unknown): void {
    const { name: operation } = this.operation;
    if (this.operation.verb !== "create") return;
    for (const field of failedStatuses(this.operation.record, record)) {
      const found = String(Reflect.get(Object(record), field));
      this.client.reporter.emit("mismatch", { operation, field, expected: "pending or processed", found });
    }
  }

  willRetry(reason: string, delayMs: number): void {
    this.client.reporter.emit("retry", { operation: this.operation.name, attempt: this.attempts, reason, delayMs });
  }

  ended(error?: CrossBorderError): void {
    const whole = { attempts: this.attempts, durationMs: clock.monotonicMs() - this.#startMs };
    if (error === undefined) this.#emit("success", { status: this.received?.status ?? 0, ...whole });
    else {
      const { code, effect, status } = error;
      this.#emit("failure", { code, effect, ...whole, ...(status !== undefined && { status }) });
    }
  }

  #emit<Name extends CallEvent>(name: Name, facts: Omit<Reported[Name], "operation" | "method" | "path">): void {
    const { reporter } = this.client;
    if (!reporter.wants(name)) return;
    const { name: operation, method, path } = this.operation;
    reporter.emit(name, { operation, method, path: path.text, ...facts, ...this.requestId() } as Reported[Name]);
  }

  /** As the last response had it, if it can be shown. */
  requestId(): { readonly requestId?: string } {
    const requestId = this.received?.headers["x-request-id"];
    const isId = requestId !== undefined && /^[\x20-\x7e]{1,128}$/.test(requestId) && this.shows(requestId);
    return isId ? { requestId } : {};
  }

  /** Whether a text repeats nothing that the request kept secret. */
  shows(text: string): boolean {
    return isShowable(text, this.secrets());
  }

  secrets(): string[] {
    const credentials = Object.entries(this.headers).flatMap(([name, value]) => (credential.test(name) ? value : []));
    return [...credentials, ...this.tokens, ...confidentialTexts(this.operation.record, this.request.values)];
  }
}

const maxReported = 1000;

/** Names of headers that carry credentials. */
const credential = /auth|cookie|credential|key|password|secret|token/;
