import { confidentialTexts, failedStatuses } from "../api/fields.js";
import type { AnyOperation } from "../api/operation.js";
import type { ResponseInfo } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import type { CrossBorderError, Effect } from "../core/errors.js";
import { isShowable } from "../core/redact.js";
import type { Reported, Reporter } from "../events/reporter.js";
import type { Signer } from "../signing/signer.js";
import type { Transport, WireResponse } from "../wire/transport.js";
import type { FailureClass, OperationKind } from "./decision.js";
import type { PreparedRequest, RequestSettings } from "./prepare.js";
import type { ValidationMode } from "./read.js";
import type { Mismatch, Schemas } from "./schema.js";
import type { TokenSource } from "./token-source.js";

/** Shared by the calls of a client. */
export interface CallContext extends RequestSettings {
  readonly origin: string;
  readonly transport: Transport;
  readonly tokens: TokenSource;
  /** Absent if the client was built without a signing key. */
  readonly signer: Signer | undefined;
  readonly schemas: Schemas;
  readonly reporter: Reporter;
  /** The fields that were reported as different. */
  readonly reported: Set<string>;
  readonly budget: RetryBudget;
  readonly inFlight: InFlight;
  readonly random: () => number;
  /** Headers of every call, with names in lower case. The headers of one call replace them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly validation: ValidationMode;
  readonly maxRecordBytes: number;
  readonly maxListBytes: number;
  /** Operations that are signed besides those that the description names. */
  readonly signedOperations: ReadonlySet<string>;
}

/** Counts the calls in flight, so that a client that closes can wait for them. Derived clients share it. */
export class InFlight {
  isClosed = false;
  #count = 0;
  #onNone = () => {};

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone();
  }

  /** Lets no further call begin, and resolves when there are none. */
  close(): Promise<void> {
    this.isClosed = true;
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#count === 0) resolve();
    });
  }
}

/**
 * Bounds the retries of a whole client, so that a long outage doesn't multiply its requests. Each retry takes one. Each success
 * returns a fifth, and each second returns one, so a single call always has its retries.
 */
export class RetryBudget {
  readonly #capacityMs: number;
  /** When time will have returned all that were taken. */
  #fullAtMs = 0;

  /** @param capacity enough for ten calls a second during an outage of some seconds. */
  constructor(capacity = 200) {
    this.#capacityMs = capacity * 1000;
  }

  /** Takes one retry. Returns false if none is left. */
  take(): boolean {
    const nowMs = clock.monotonicMs();
    const fullAtMs = Math.max(nowMs, this.#fullAtMs) + 1000;
    if (fullAtMs > nowMs + this.#capacityMs) return false;
    this.#fullAtMs = fullAtMs;
    return true;
  }

  giveBack(retries: number): void {
    this.#fullAtMs -= retries * 1000;
  }
}

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
  get response(): ResponseInfo {
    const { status = 0, headers = {} } = this.received ?? {};
    return { status, headers, ...this.requestId() };
  }

  responded({ status, headers }: WireResponse, durationMs: number): void {
    this.received = { status, headers, durationMs };
    this.#emit("response", { status, attempt: this.attempts, durationMs });
  }

  /**
   * Reports each field of an operation once in the life of a client, which remembers at most 1,000. A payment that says that it
   * failed is reported each time.
   */
  differs(data: unknown, mismatches: readonly Mismatch[]): void {
    const { reporter, reported } = this.client;
    const { name: operation, record, verb } = this.operation;
    for (const mismatch of mismatches) {
      // Reported fields have no spaces.
      const key = `${mismatch.field} ${operation}`;
      if (reported.has(key) || reported.size >= maxReported) continue;
      reported.add(key);
      reporter.emit("mismatch", { operation, ...mismatch });
    }
    if (verb !== "create") return;
    for (const field of failedStatuses(record, data)) {
      const found = String(Reflect.get(Object(data), field));
      reporter.emit("mismatch", { operation, field, expected: "pending or processed", found });
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
