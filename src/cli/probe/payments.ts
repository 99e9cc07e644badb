import { randomUUID } from "node:crypto";
import { clock } from "../../core/clock.js";
import type { PaymentIntentRequest } from "../../resources/payment-intents.js";
import type { SigningKey } from "../../signing/keys.js";
import { signRequest } from "../../signing/signer.js";
import { NoAnswer } from "./no-answer.js";
import type { ProbeRequest, Prober, Seen, SentRequest } from "./prober.js";
import { codeIn, createdAtMs, describe, isRefused, type Row } from "./responses.js";

/** What was made at the service, or may have been: a request without a response. */
export interface Made {
  readonly kind: "intent" | "payment" | "update";
  request?: string;
  id?: string;
  readonly senderGatewayTransactionId?: string;
  /** `unknown`: it was sent, and no response says what came of it. */
  state: "made" | "unknown" | "undone";
}

/** The intents that the user allows, but for what a question changes. */
export interface PaymentsOptions {
  readonly prober: Prober;
  readonly intent: PaymentIntentRequest;
  readonly signingKey: SigningKey;
}

/** How a payment differs from one that is as described. */
export interface Twist {
  /** The path that is signed. Default: as the service takes it. */
  readonly signedPath?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The signature of a body; `null` for none. Default: as described. */
  readonly sign?: (path: string, body: string) => Promise<string | null>;
  readonly change?: (body: Row) => Row;
}

/** A payment that was asked for. */
export interface Asked {
  readonly seen: Seen;
  /** The record, where one was made. */
  readonly payment: Row | undefined;
  readonly sent: { readonly body: string; readonly signature: string | null };
}

const signatureHeader = "x-service-signature-base64";

/** Makes intents and payments, and keeps a list of all of them. */
export class Payments {
  readonly made: Made[] = [];
  /** `createdAt` of each payment, when it was made. */
  readonly clocks: { readonly seen: Seen; readonly createdMs: number }[] = [];
  readonly intent: PaymentIntentRequest;
  readonly #prober: Prober;
  readonly #key: SigningKey;
  /** Whether the base path belongs to what is signed. Whoever asks finds it out first. */
  isBaseSigned = true;

  constructor({ prober, intent, signingKey }: PaymentsOptions) {
    this.#prober = prober;
    this.intent = intent;
    this.#key = signingKey;
  }

  /** The path of `POST /payments` as it goes over the wire, without its query. */
  get path(): string {
    return `${this.#prober.baseUrl.path}/payments`;
  }

  /** Asks for an intent, and notes it where one was made. */
  async tryIntent(change: (body: Row) => Row = (body) => body): Promise<{ seen: Seen; intent: Row | undefined }> {
    const body = JSON.stringify(change({ ...this.intent }));
    const noted: Made = { kind: "intent", state: "unknown" };
    const seen = await this.#make(noted, { method: "POST", path: "/payment-intents", body });
    return { seen, intent: this.#settle(noted, seen) };
  }

  /** @throws {NoAnswer} where none was made. */
  async makeIntent(): Promise<Row> {
    const { seen, intent } = await this.tryIntent();
    if (intent === undefined) throw new NoAnswer(`an intent responded with ${describe(seen)}${codeOf(seen)}`);
    return intent;
  }

  async pay(intent: Row, twist: Twist = {}): Promise<Asked> {
    const senderGatewayTransactionId = `probe-${randomUUID()}`;
    const plain = { ...intent, senderGatewayTransactionId };
    const body = JSON.stringify(twist.change?.(plain) ?? plain);
    const path = twist.signedPath ?? (this.isBaseSigned ? this.path : "/payments");
    const signature = await (twist.sign ?? this.sign)(path, body);
    return this.#send(body, signature, senderGatewayTransactionId, twist.query);
  }

  /** Sends the same bytes as before. */
  async payAgain({ sent: { body, signature } }: Asked): Promise<Asked> {
    return this.#send(body, signature, String((JSON.parse(body) as Row).senderGatewayTransactionId));
  }

  /** @throws {NoAnswer} where none was made. */
  async makePayment(): Promise<{ readonly payment: Row; readonly receivedAtMs: number }> {
    const { seen, payment } = await this.pay(await this.makeIntent());
    if (payment === undefined) throw new NoAnswer(`a payment responded with ${describe(seen)}${codeOf(seen)}`);
    return { payment, receivedAtMs: clock.monotonicMs() };
  }

  readonly sign = (path: string, body: string): Promise<string> => signRequest({ key: this.#key, path, body });

  /** Sends a request that makes or changes something, which is noted before. */
  async change(noted: Made, request: ProbeRequest): Promise<Seen> {
    return this.#make(noted, request);
  }

  async #send(body: string, signature: string | null, transactionId: string, query?: Twist["query"]): Promise<Asked> {
    const noted: Made = { kind: "payment", senderGatewayTransactionId: transactionId, state: "unknown" };
    const headers = signature === null ? {} : { [signatureHeader]: signature };
    const request = { method: "POST", path: "/payments", body, headers } as const;
    const seen = await this.#make(noted, query === undefined ? request : { ...request, query });
    const known = this.made.flatMap(({ kind, id }) => (kind === "payment" ? [id] : []));
    const payment = this.#settle(noted, seen);
    // What a repeated request gets may be a payment of before, whose time says nothing of now.
    const createdMs = payment === undefined || known.includes(String(payment.id)) ? undefined : createdAtMs(payment);
    if (createdMs !== undefined) this.clocks.push({ seen, createdMs });
    return { seen, payment, sent: { body, signature } };
  }

  async #make(noted: Made, request: ProbeRequest): Promise<Seen> {
    const { requests, baseUrl } = this.#prober;
    const before = requests.length;
    this.made.push(noted);
    try {
      return await this.#prober.send(request);
    } finally {
      // A login may have come before it, or have failed.
      const isIt = ({ method, path }: SentRequest) =>
        method === request.method && path.startsWith(baseUrl.path + request.path);
      const sent = requests.slice(before).find(isIt);
      if (sent === undefined) this.#forget(noted);
      else noted.request = sent.id;
    }
  }

  #forget(noted: Made): void {
    const index = this.made.indexOf(noted);
    if (index >= 0) this.made.splice(index, 1);
  }

  #settle(noted: Made, seen: Seen): Row | undefined {
    const { status, json } = seen;
    if (isRefused(seen) || status === 401) this.#forget(noted);
    const record = Object(json) as Row;
    if (status < 200 || status > 299 || typeof record.id !== "string") return undefined;
    noted.id = record.id;
    if (status !== 202) noted.state = "made";
    // What has only been taken in may still be refused.
    return status === 202 ? undefined : record;
  }
}

export function codeOf(seen: Seen): string {
  const code = codeIn(seen);
  return code === undefined ? "" : `, ${code}`;
}
