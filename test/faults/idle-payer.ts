import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { CrossBorderClient, CrossBorderError, generateSigningKeyPair } from "cross-border-payments";
import { Agent } from "undici";
import { payment } from "./calls.js";

/** What a process does between two payments: it waits, its event loop is blocked, or it is stopped. */
export interface Pause {
  readonly how: "wait" | "block" | "stop";
  readonly ms: number;
}

export interface PayerPlan {
  readonly origin: string;
  /** The client's own agent, or undici's as it is. */
  readonly agent: "own" | "undici's";
  /** Each is made by its own client, and pays once before each pause and once after the last. */
  readonly lanes: readonly (readonly Pause[])[];
}

/** What the callers were told. */
export type Told = Record<"made" | "none" | "possible" | "done", number>;

/** From the payer: it is to be stopped for so long. Then it is told to go on. */
export interface StopRequest {
  readonly stopMs: number;
}

const plan: PayerPlan = JSON.parse(process.argv[2] ?? "");
const told: Told = { made: 0, none: 0, possible: 0, done: 0 };
const { privateKey } = await generateSigningKeyPair();
let payments = 0;

await Promise.all(plan.lanes.map(payInLane));
process.send?.(told, () => process.exit());

async function payInLane(pauses: readonly Pause[]): Promise<void> {
  const client = new CrossBorderClient({
    baseUrl: plan.origin,
    auth: { accessToken: () => "token" },
    signingKey: privateKey,
    ...(plan.agent === "own" ? undefined : { dispatcher: new Agent({ allowH2: false }) }),
  });
  for (const pause of pauses) {
    await pay(client);
    await doNothing(pause);
  }
  await pay(client);
}

async function pay(client: CrossBorderClient): Promise<void> {
  payments += 1;
  try {
    await client.payments.create({ ...payment, senderGatewayTransactionId: `transaction-${payments}` });
    told.made += 1;
  } catch (error) {
    if (!(error instanceof CrossBorderError)) throw error;
    told[error.effect] += 1;
  }
}

async function doNothing({ how, ms }: Pause): Promise<void> {
  if (how === "wait") return sleep(ms);
  // undici notices in a later turn of the event loop that the connection is idle.
  await sleep(5);
  if (how === "block") return void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const request: StopRequest = { stopMs: ms };
  process.send?.(request);
  await once(process, "message");
}
