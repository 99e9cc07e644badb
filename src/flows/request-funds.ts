import { CrossBorderError, InvalidArgumentError } from "../errors/errors.js";
import { payments } from "../resources/payments.js";
import { waitAsAsked } from "./asked-wait.js";
import type { FlowContext, OwnedFlow, StepResult } from "./flow-context.js";
import { type Claim, type FlowState, type Look, openClaim, type StateOf } from "./flow-state.js";
import { frozenCopy } from "./frozen-copy.js";
import { assertFlowFunds, type FlowFunds } from "./funds-functions.js";
import type { Lease } from "./lease.js";
import { lookForPayment, sureMark } from "./look-for-payment.js";
import { paymentFromIntent } from "./payment-from-intent.js";

type Requested = StateOf<"funds-requested">;
type Funded = Requested & { readonly senderGatewayTransactionId: string };

/** Asks for the money, and claims the payment for this owner. The money is asked for again before every further claim. */
export async function requestFunds(context: FlowContext, owned: OwnedFlow, begun: Requested): Promise<StepResult> {
  const { askedWait, ...state } = begun;
  await waitAsAsked(context, owned, askedWait);
  const wasTaken = state.senderGatewayTransactionId !== undefined;
  if (!wasTaken) context.circuitBreaker?.assertClosed();
  const funds = await askForFunds(context, owned.lease.key, state);
  if (funds === null) return { state: declined(state) };
  const { senderGatewayTransactionId } = funds;
  const isTakenSince = state.isTakenSince ?? (isFirstTaking(owned, state, funds) ? true : undefined);
  const funded = { ...state, senderGatewayTransactionId, ...(isTakenSince && { isTakenSince }) };
  try {
    if (await owned.lease.retake()) owned.mustLook = true;
    const request = openClaim(state.claims) ?? (await sign(context, owned, funded));
    const isLost = isLostEntry(owned, state, funds);
    let looks = state.looks;
    if (owned.mustLook || isLost) {
      const { look, found } = await lookFor(context, owned, funded, request);
      looks = withLook(looks, look);
      if (found !== undefined) return { state: { ...funded, looks, phase: "paid", payment: found } };
      const obstacle = obstacleTo({ ...funded, looks }, look, isLost);
      if (obstacle !== undefined) return obstacle;
    }
    // Where the money is taken already, only a new claim has to wait: the look may end the flow.
    if (wasTaken) context.circuitBreaker?.assertClosed();
    await context.client.ensureToken(context.leaseMs, owned.call.requestOptions);
    return { state: claim(owned.lease, { ...funded, looks }, request) };
  } catch (error) {
    // From now on it is known that the money was taken.
    return { state: funded, error };
  }
}

/** @throws whatever `takeFunds` throws; {InvalidArgumentError} when it does not return what it has to. */
async function askForFunds({ takeFunds }: FlowContext, key: string, state: Requested): Promise<FlowFunds | null> {
  const funds: unknown = await takeFunds({ key, intent: frozenCopy(state.intent) });
  assertFlowFunds(funds);
  if (funds === null) assertMayDecline(state);
  else assertSameFunds(state, funds);
  return funds;
}

/** What may have been paid can't be declined. */
function assertMayDecline({ senderGatewayTransactionId }: Requested): void {
  if (senderGatewayTransactionId === undefined) return;
  throw new InvalidArgumentError(
    'takeFunds returned null for money that it had taken before. Either the money was given back since, and the journal was restored to a time before that: if your books say so, resolve(key, "release", …) ends the flow. Or takeFunds does not stand by its first response, which is final: nothing is sent until it returns the id that it returned then',
  );
}

function assertSameFunds({ senderGatewayTransactionId: known }: Requested, { senderGatewayTransactionId }: FlowFunds) {
  if (known === undefined || known === senderGatewayTransactionId) return;
  throw new InvalidArgumentError(
    `takeFunds returned the senderGatewayTransactionId ${JSON.stringify(senderGatewayTransactionId)}, and ${JSON.stringify(known)} when it was called with this key before: its first response is final. Nothing is sent until it returns the same one`,
  );
}

function declined({ phase: _, since: __, claims: ___, looks: ____, decisions: _____, ...rest }: Requested): FlowState {
  return { ...rest, phase: "declined" };
}

/** This call has just begun the flow, and the money of its key had been taken before: an entry of the same key was lost. */
function isLostEntry({ mustLook }: OwnedFlow, state: Requested, { replayed }: FlowFunds): boolean {
  return replayed && !mustLook && state.senderGatewayTransactionId === undefined;
}

/** This call has just begun the flow, and took the money: no payment of the key is older than the mark. */
function isFirstTaking({ mustLook }: OwnedFlow, state: Requested, { replayed }: FlowFunds): boolean {
  return !replayed && !mustLook && state.senderGatewayTransactionId === undefined;
}

type SignedClaim = Pick<Claim, "path" | "body" | "signature"> & { readonly keyId?: string | undefined };

async function sign({ client }: FlowContext, { call }: OwnedFlow, state: Funded): Promise<SignedClaim> {
  const body = paymentFromIntent(state.intent, state.senderGatewayTransactionId);
  const signed = await client.sign(payments.create, [], { body }, call.requestOptions);
  return { ...signed, keyId: await client.signingKeyId() };
}

/** Compares the listed payments with the bytes that would be sent as well: the claim of an earlier process may have been lost. */
async function lookFor(
  { client }: FlowContext,
  { call }: OwnedFlow,
  state: Funded,
  request: SignedClaim,
): ReturnType<typeof lookForPayment> {
  const claims = [...state.claims, request];
  const { look, found } = await lookForPayment(client, { ...state, claims }, sureMark(state), call.requestOptions);
  return { look: { ...look, claims: state.claims.length }, found };
}

/** A flow whose looks keep being incomplete keeps the last of them only. */
function withLook(looks: readonly Look[], look: Look): readonly Look[] {
  const last = looks.at(-1);
  const isAgain = last !== undefined && !last.complete && last.claims === look.claims;
  return [...(isAgain ? looks.slice(0, -1) : looks), look];
}

/** What stands in the way of a claim although the payment was not found. */
function obstacleTo(state: Funded, { complete, lookalike, problem }: Look, isLost: boolean): StepResult | undefined {
  const held = (reason: string): StepResult => ({ state: { ...state, phase: "held", reason } });
  if (lookalike !== undefined) {
    return held(
      "before the payment was sent, one with the same transaction id was found, and its signature or its content is another",
    );
  }
  if (!complete) {
    const { name: operation } = payments.list;
    const message = `${operation}: the payment may have been made by an earlier process, and not all payments could be read: ${problem}`;
    return {
      state,
      error: new CrossBorderError(message, { code: "flow_payment_unseen", effect: "possible", operation }),
    };
  }
  if (!isLost) return undefined;
  return held(
    "takeFunds said in this flow's first call that the money of this key had been taken before, and no payment of it was found: either an earlier entry of it was lost, or takeFunds repeated a request of its own and returned what came in response to the repetition",
  );
}

/** A claim begins with a whole lease, so that there is time to send it. */
function claim(lease: Lease, state: Funded, { path, body, signature, keyId }: SignedClaim): StateOf<"claimed"> {
  const made: Claim = {
    path,
    body,
    signature,
    ...(keyId === undefined ? undefined : { keyId }),
    ...lease.beginClaim(),
  };
  return { ...state, phase: "claimed", claim: made, claims: [...state.claims, made] };
}
