import type { PaymentIntent, PaymentIntentRequest } from "../../resources/payment-intents.js";
import type { Payment } from "../../resources/payments.js";

// The stored state.

/** What the service, or the connection, said last. */
export interface Words {
  readonly status?: number | undefined;
  readonly code: string;
  readonly message: string;
}

/** A definite refusal. `operator` means that an operator returned the money. */
export interface Refusal extends Words {
  readonly by: "service" | "operator";
}

/** What is sent, byte for byte. A further claim has the same bytes. */
export interface Signed {
  readonly senderGatewayTransactionId: string;
  readonly path: string;
  readonly body: string;
  readonly signature: string;
}

/** `replayed` means that the key's money had been taken before this call of `takeFunds`, at `takenAtMs`. */
export type Funds =
  | { readonly senderGatewayTransactionId: string; readonly replayed: false }
  | { readonly senderGatewayTransactionId: string; readonly replayed: true; readonly takenAtMs: number };

/** A promise of the service's operators, from the option `facts`. */
export type Fact = "listedWithinMs" | "singleUseIntents";

export type Action = "found" | "release" | "resend";

export interface Decision {
  readonly action: Action;
  readonly by: string;
  readonly why: string;
  readonly atMs: number;
  /** For `found`, if the list doesn't show it. */
  readonly payment?: Payment;
  readonly withoutProof?: true;
  readonly approvedBy?: string;
}

export interface Tries {
  /** Claims that may have become a payment, or still may. They aren't refused and were perhaps sent. */
  readonly open: number;
  /** Claims that got a 401, 429s, and searches before a claim that couldn't read the list. */
  readonly unauthorized: number;
  readonly throttled: number;
  readonly unread: number;
  /** Times that the same bytes were sent again because of a fact. */
  readonly repeated: number;
}

export interface Begun {
  readonly request: PaymentIntentRequest;
  readonly intent: PaymentIntent;
  /** Searches go back to this time, when the entry or an earlier entry of the key began. */
  readonly begunAtMs: number;
  readonly tries: Tries;
  /** From the first claim on. */
  readonly signed?: Signed | undefined;
  readonly reliedOn?: readonly Fact[] | undefined;
  readonly decisions?: readonly Decision[] | undefined;
}

export interface Sent extends Begun {
  readonly signed: Signed;
}

export interface Quoted extends Pick<Begun, "request" | "intent"> {
  readonly phase: "quoted";
}

export interface FundsRequested extends Begun {
  readonly phase: "funds-requested";
  /** After a 401, a 429, or a list that couldn't be read. */
  readonly notBeforeMs?: number;
  /** Why it waits. */
  readonly said?: Words;
  /** The money was taken for an earlier entry of the key, which was lost. */
  readonly wasLost?: true;
}

export interface Claimed extends Sent {
  readonly phase: "claimed";
}

export interface Unknown extends Sent {
  readonly phase: "unknown";
  /** Absent if the process that sent the payment stopped. */
  readonly said?: Words | undefined;
}

export interface Refused extends Sent {
  readonly phase: "refused";
  readonly refusal: Refusal;
}

/** The results of the searches before a flow was held. */
export interface Searches {
  readonly times: number;
  readonly last: "absent" | "incomplete" | "unreadable" | "forbidden";
}

export type HeldReason =
  /** No definite response, and not listed. */
  | "not-found"
  /** The key is new here, but its money had been taken before. */
  | "entry-lost"
  /** Its money had been taken before, and the list couldn't be read. */
  | "unreadable"
  /** Listed with our transaction id and another body. */
  | "possible-match"
  /** A definite refusal of bytes that had been sent before. Perhaps they were paid. */
  | "refused-after-repeat"
  /** 401 again and again. */
  | "unauthorized"
  /** The bank no longer has the money of a payment that may exist. */
  | "money-gone";

export interface Held extends Sent {
  readonly phase: "held";
  readonly why: HeldReason;
  readonly said?: Words | undefined;
  readonly searches?: Searches;
  /** The possible match. */
  readonly match?: Payment;
  /** Of the first of two people. */
  readonly proposal?: Decision;
}

export interface Paid extends Begun {
  readonly phase: "paid";
  readonly payment: Payment;
}

export interface Declined extends Pick<Begun, "request" | "intent"> {
  readonly phase: "declined";
  /** Why the quote was cancelled. */
  readonly reason?: string | undefined;
}

export interface Rejected extends Pick<Begun, "request" | "signed" | "reliedOn" | "decisions"> {
  readonly phase: "rejected";
  readonly refusal: Refusal;
  /** Absent if the intent was refused. */
  readonly intent?: PaymentIntent | undefined;
}

export type Outcome = Held | Paid | Declined | Rejected;
export type Flow = Quoted | FundsRequested | Claimed | Unknown | Refused | Outcome;
export type Phase =
  | "quoted"
  | "funds-requested"
  | "claimed"
  | "unknown"
  | "refused"
  | "held"
  | "paid"
  | "declined"
  | "rejected";

// The inputs, which are calls, what they may rely on, and events.

export type Resolution =
  /** One person decides. `revision` is that of the entry that the person saw. */
  | { readonly step: "decide"; readonly decision: Decision; readonly revision?: number | undefined }
  | { readonly step: "propose"; readonly decision: Decision; readonly revision: number }
  /** Another person carries out what is stored. */
  | { readonly step: "approve"; readonly by: string; readonly revision: number }
  /** Another person, or the proposer, drops the proposal. */
  | { readonly step: "refuse"; readonly by: string; readonly revision: number };

export type Call =
  | { readonly kind: "run" | "quote"; readonly request: PaymentIntentRequest }
  | { readonly kind: "confirm"; readonly intentId: string }
  | { readonly kind: "cancel"; readonly reason?: string | undefined }
  /** `work` took over an open flow. See `resume`. */
  | { readonly kind: "recover" }
  /** `work` searches again for the payment of a held flow. */
  | { readonly kind: "recheck" }
  | ({ readonly kind: "resolve" } & Resolution);

export interface Config {
  /** Searches after the first one. */
  readonly readBacks: number;
  /** How far the bank's clock and the service's may be apart from ours. */
  readonly bankSkewMs: number;
  /** Claims after a 401, unreadable searches before a claim, and claims because of a fact. */
  readonly maxUnauthorized: number;
  readonly maxUnread: number;
  readonly maxRepeats: number;
  readonly facts: { readonly listedWithinMs?: number | undefined; readonly singleUseIntents?: boolean | undefined };
}

/** Eight waits of `backoffMs` are some 20 minutes. */
export const limits = { maxUnauthorized: 8, maxUnread: 8, maxRepeats: 3 } as const;

export interface Entry {
  readonly flow: Flow;
  readonly revision: number;
  /** A quote's time is over, by the journal's clock. */
  readonly isExpired: boolean;
}

export interface Failure {
  readonly code: string;
  readonly effect: "none" | "possible";
  readonly retryAtMs?: number | undefined;
  /** The thrown value, which becomes the `cause` of the error. */
  readonly cause?: unknown;
}

/** Found by signature or body, or a match of our gateway and transaction id with another body. */
export interface Listed {
  readonly is: "found" | "match";
  readonly payment: Payment;
}

export type SearchResult =
  | Listed
  /** It read all there is, back to its bound. */
  | { readonly is: "absent" }
  /** It read back to its bound, and tokens that don't follow time prove nothing. */
  | { readonly is: "incomplete" }
  /** For now: 5xx, no response. */
  | { readonly is: "unreadable" }
  /** A permanent failure, which is any 4xx, a `PagingError`, or `maxRecords`. */
  | { readonly is: "forbidden" };

export type Response =
  | { readonly is: "paid"; readonly payment: Payment }
  | { readonly is: "refused"; readonly refusal: Refusal }
  /** A 401 in any form, or the service's own 429. `retryAtMs` is that of `Retry-After`. */
  | { readonly is: "unauthorized" | "throttled"; readonly said: Words; readonly retryAtMs?: number | undefined }
  /** Certainly no byte was written. */
  | { readonly is: "notSent"; readonly failure: Failure }
  | { readonly is: "unknown"; readonly said: Words };

export type Happened =
  /** The entry that `read` found, or that kept `begin` from storing. `pruned` is a tombstone. */
  | { readonly is: "entry"; readonly entry: Entry | undefined }
  | { readonly is: "pruned" }
  /** This call has the lease. Without a lease, its quote or outcome is stored. */
  | { readonly is: "owned"; readonly entry: Entry }
  | { readonly is: "stored" }
  /** The write won't be stored, now or later, since the entry has changed. */
  | { readonly is: "refused" }
  /** Another owner has the lease. */
  | { readonly is: "busy" }
  | { readonly is: "intent"; readonly intent: PaymentIntent }
  | { readonly is: "intentRefused"; readonly refusal: Refusal; readonly failure: Failure }
  | { readonly is: "funds"; readonly funds: Funds | null }
  | { readonly is: "signed"; readonly signed: Signed }
  | { readonly is: "response"; readonly response: Response }
  | { readonly is: "searched"; readonly result: SearchResult }
  | { readonly is: "done" }
  /** The driver gave up. A write may be stored, not stored, or still under way. */
  | { readonly is: "failed"; readonly failure: Failure };

export type Event = Happened & { readonly nowMs: number };

// The outputs, which are commands and results.

export type Command =
  | { readonly do: "read" }
  | { readonly do: "createIntent"; readonly request: PaymentIntentRequest }
  /** Creates the entry, with a lease if the flow is open. */
  | { readonly do: "begin"; readonly flow: Flow }
  /** Replaces the quote if it is still as it was read. `inTime` requires that it's valid by the journal's clock. */
  | { readonly do: "replaceQuote"; readonly flow: Flow; readonly inTime: boolean }
  | { readonly do: "acquire" }
  /** Only if epoch, nonce, and revision are the owner's. An outcome ends the lease. */
  | { readonly do: "write"; readonly flow: Flow }
  | { readonly do: "release" }
  | { readonly do: "takeFunds"; readonly flow: FundsRequested }
  | { readonly do: "releaseFunds"; readonly flow: Refused }
  | { readonly do: "sign"; readonly flow: FundsRequested; readonly funds: Funds }
  /** Not after the lease, less a tenth, has ended by either local clock. The driver checks it again right before the first byte. */
  | { readonly do: "send"; readonly flow: Claimed }
  | { readonly do: "search"; readonly flow: Sent; readonly backToMs: number }
  /** The driver answers `failed`, with `atMs` as `retryAtMs`, if this is longer than the caller's patience. */
  | { readonly do: "wait"; readonly until: "notBefore"; readonly atMs: number }
  /** `listed` waits until `listedWithinMs` after the owner's acquire and after the end of its own request. `others` waits a moment. */
  | { readonly do: "wait"; readonly until: "readBack" | "listed" | "others" };

export type Result =
  | { readonly outcome: Outcome }
  | { readonly quoted: Quoted }
  /** A `FlowPausedError`, since the flow owns the payment. */
  | { readonly paused: Failure }
  | { readonly thrown: Failure }
  /** `work` has nothing to do here. */
  | { readonly nothing: true };

// The memory of a call between two events.

/** A call that doesn't own the flow. */
export type Visitor = { readonly call: Call } & (
  | { readonly at: "reading" | "waiting" | "rechecking" }
  | { readonly at: "acquiring"; readonly found?: Payment | undefined }
  | { readonly at: "asking"; readonly isRenewal: boolean }
  | { readonly at: "creating"; readonly to: Flow }
  /** An error is due. It may have the effect `none` only if the flow doesn't exist. */
  | { readonly at: "failing"; readonly failure: Failure }
);

export interface Owner<F extends Flow = Flow> {
  readonly at: "owning";
  readonly call: Call;
  readonly flow: F;
  /** This call created or confirmed the entry, so no other call can have taken its money. */
  readonly began: boolean;
  /** The search that the next claim needs is done. */
  readonly searched?: boolean | undefined;
  readonly funds?: Funds;
  readonly signed?: Signed;
  readonly refusal?: Refusal;
  readonly decision?: Decision;
  /** Searches so far, without the first one. */
  readonly readBacks?: number;
  /** The next search can prove absence. */
  readonly isProof?: boolean;
}

export interface Writer {
  readonly at: "writing";
  readonly owner: Owner;
  readonly to: Flow;
  /** What the call ends with then. Otherwise it continues. */
  readonly then?: Result | undefined;
}

/** `leaving` means that its lease is being returned. */
export interface Ended {
  readonly at: "leaving" | "done";
  readonly call: Call;
  readonly result: Result;
}

export type State = Visitor | Owner | Writer | Ended;

export interface Step {
  readonly state: State;
  /** Absent when the call is done. */
  readonly command?: Command;
}
