import type { Payment } from "../../resources/payments.js";

/** What the page shows: never a secret, a token or a private key. Lists have the newest first. */
export interface ConsoleState {
  /** Base URL of the operations, and address of the identity provider. */
  readonly service: { readonly baseUrl: string; readonly authUrl: string };
  readonly requests: readonly RequestLine[];
  readonly faults: readonly ArmedFault[];
  readonly gateways: Some<GatewayLine>;
  readonly providers: Some<ProviderLine>;
  readonly rates: Some<RateLine>;
  readonly intents: Some<IntentLine>;
  readonly payments: Some<PaymentLine>;
  readonly tokens: readonly TokenLine[];
  /** Accounts that name verification knows: suggestions for the form. */
  readonly accounts: readonly { readonly gatewayId: string; readonly account: string; readonly name: string }[];
  readonly operations: readonly string[];
}

/** The newest of many. */
export interface Some<Line> {
  readonly total: number;
  readonly lines: readonly Line[];
}

export interface RequestLine {
  readonly id: string;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  /** Empty for requests that are no operation's; secrets in it are hidden. */
  readonly query: string;
  readonly operation: string | undefined;
  /** Sent by the console itself. */
  readonly isOwn: boolean;
  /** Of the response; 0 for a connection that was broken off, nothing while there is none. */
  readonly status: number | undefined;
  readonly tookMs: number | undefined;
  readonly error: string | undefined;
  readonly signature: SignatureLine;
  /** What a button of the console did to it. */
  readonly fault: FaultKind | undefined;
}

export interface SignatureLine {
  /** `unasked`: it need not be signed. `unchecked`: it can't be told, since `why`. `explaining`: it is wrong, and why is being found out. */
  readonly verdict: "unasked" | "valid" | "missing" | "wrong" | "unchecked" | "explaining";
  /** The gateway whose key verified it, or should have. */
  readonly signer?: string | undefined;
  readonly why?: string | undefined;
  readonly findings?:
    | readonly { readonly aspect: string; readonly problem: string; readonly remedy: string }[]
    | undefined;
}

export type FaultKind = "lost" | "delay" | "unavailable";

export interface ArmedFault {
  readonly id: string;
  readonly kind: FaultKind;
  /** An operation, `token`, or `operations` for any operation. */
  readonly of: string;
  readonly times: number;
  readonly delayMs: number;
}

export interface GatewayLine {
  readonly id: string;
  readonly institutionId: string;
  readonly name: string;
  readonly country: string;
  readonly currency: string;
  /** SHA-256 of the registered key's DER form, in hex; empty where none is registered, or what is registered is no key. */
  readonly fingerprint: string;
  /** The console has its signing key. */
  readonly canSign: boolean;
}

export interface ProviderLine {
  readonly id: string;
  readonly name: string;
}

export interface RateLine {
  readonly id: string;
  readonly provider: string;
  readonly base: string;
  readonly counter: string;
  readonly buyPrice: string;
  readonly sellPrice: string;
}

export interface IntentLine {
  readonly id: string;
  readonly senderGatewayId: string;
  readonly sender: string;
  readonly senderName: string;
  readonly senderAmount: string;
  readonly receiver: string;
  readonly receiverName: string;
  readonly receiverAmount: string;
  readonly fee: string;
  /** What the sender pays for one unit that the receiver gets, and the same with the receiving gateway's fee. */
  readonly rate: string;
  readonly exactRate: string;
  readonly memo: string;
}

export interface PaymentLine {
  readonly id: string;
  readonly createdAt: string;
  readonly sender: string;
  readonly senderAmount: string;
  readonly receiver: string;
  readonly receiverAmount: string;
  readonly senderStatus: string;
  readonly receiverStatus: Payment["receiverGatewayStatus"];
  readonly senderTransactionId: string;
  readonly receiverTransactionId: string;
}

export interface TokenLine {
  readonly id: string;
  readonly user: string;
  readonly kind: "access" | "refresh";
  readonly issuedAtMs: number;
  readonly untilMs: number;
  readonly fate: "valid" | "expired" | "revoked";
}
