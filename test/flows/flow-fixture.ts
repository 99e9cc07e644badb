import { type ClientOptions, CrossBorderClient, type PaymentIntentRequest } from "cross-border-payments";
import { type FlowFunds, MemoryJournal, PaymentFlow, type PaymentFlowOptions } from "cross-border-payments/flow";
import { createSandbox, type Sandbox, type SandboxOptions } from "cross-border-payments/sandbox";
import { clock } from "../../src/core/clock.js";
import { intentRequest } from "../support/corridor.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { sandboxToken } from "../support/sandbox-token.js";

export const request: PaymentIntentRequest = { ...intentRequest, receiverCurrency: "EUR", receiverAmount: "150.00" };

interface Seen {
  readonly operation: string | undefined;
}

/** The service's own refusal. */
export const refusal = (status = 400, error = "limit") => Response.json({ error, message: "no" }, { status });

export const isPayment = ({ operation }: Seen) => operation === "payments.create";
export const isList = ({ operation }: Seen) => operation === "payments.list";

/** Responds to payments in the service's place, which hears nothing of them. */
export function onPayment(respond: () => Response | undefined): SandboxOptions {
  return { onRequest: (seen) => (isPayment(seen) ? respond() : undefined) };
}

/** Responds to payments in the place of the service, which has made them. */
export function afterPayment(respond: () => Response | undefined): SandboxOptions {
  return { onResponse: (seen) => (isPayment(seen) ? respond() : undefined) };
}

/** A bank that is idempotent by key, and counts its calls. */
export class Bank {
  readonly taken = new Map<string, { readonly senderGatewayTransactionId: string; readonly takenAtMs: number }>();
  readonly released: string[] = [];
  calls = 0;
  decline = false;

  readonly takeFunds = ({ key }: { readonly key: string }): FlowFunds | null => {
    this.calls += 1;
    if (this.decline || this.released.includes(key)) return null;
    const taken = this.taken.get(key);
    if (taken !== undefined) return { ...taken, replayed: true };
    const senderGatewayTransactionId = `TX-${this.taken.size + 1}`;
    this.taken.set(key, { senderGatewayTransactionId, takenAtMs: clock.wallMs() });
    return { senderGatewayTransactionId, replayed: false };
  };

  readonly releaseFunds = ({ key }: { readonly key: string }): void => {
    this.released.push(key);
  };
}

export interface FlowFixture {
  readonly sandbox: Sandbox;
  readonly journal: MemoryJournal;
  readonly bank: Bank;
  readonly client: CrossBorderClient;
  /** An access token of the sandbox. */
  logIn(): Promise<string>;
  /** Stands for another process: a flow of its own over the same journal. */
  flow(options?: Partial<PaymentFlowOptions>, client?: Partial<ClientOptions>): PaymentFlow;
}

/** Shows nothing of a text to who does not decode it. */
export const cipher = {
  encrypt: (text: string) => Buffer.from(text).toString("base64"),
  decrypt: (text: string) => Buffer.from(text, "base64").toString(),
};

/** What a bank does that takes no money now. */
export const closed = (): never => {
  throw new Error("the bank is closed");
};

/** @param defaults of each flow. */
export async function flowFixture(
  sandboxOptions: SandboxOptions = {},
  defaults: Partial<PaymentFlowOptions> = {},
): Promise<FlowFixture> {
  const { privateKey, publicKeyBase64 } = signingKeysOf("gateway");
  let ready = false;
  const sandbox = createSandbox({
    ...sandboxOptions,
    onRequest: (seen) => (ready ? sandboxOptions.onRequest?.(seen) : undefined),
    onResponse: (seen, response) => (ready ? sandboxOptions.onResponse?.(seen, response) : undefined),
  });
  const options = {
    ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" }),
    signingKey: privateKey,
    fetch: sandbox.fetch,
  };
  const client = new CrossBorderClient(options);
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: publicKeyBase64 });
  }
  ready = true;
  const journal = new MemoryJournal();
  const bank = new Bank();
  const { takeFunds, releaseFunds } = bank;
  return {
    sandbox,
    journal,
    bank,
    client,
    logIn: () => sandboxToken(sandbox),
    flow: (more, clientOptions) =>
      new PaymentFlow({
        client: new CrossBorderClient({ ...options, maxRetries: 0, ...clientOptions }),
        journal,
        takeFunds,
        releaseFunds,
        leaseMs: 30_000,
        readBackDelayMs: 10,
        ...defaults,
        ...more,
      }),
  };
}
