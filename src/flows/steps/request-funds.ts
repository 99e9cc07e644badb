import { CrossBorderError, InvalidArgumentError } from "../../errors/errors.js";
import { payments } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";
import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import { type FlowFunds, readFlowFunds } from "../funds-functions.js";
import { describeShortLives } from "../looking/describe-looks.js";
import { lookForPayment } from "../looking/look-for-payment.js";
import { afterLook, hastyLooks, waitAsOwner, wholeWaitMs } from "../looking/wait-as-owner.js";
import type { Lease } from "../ownership/lease.js";
import { paymentInput } from "../payment-from-intent.js";
import { type Claim, type FlowState, type Look, openClaim, type StateOf } from "../state/flow-state.js";
import { frozenCopy } from "../state/frozen-copy.js";
import { waitAsAsked } from "./asked-wait.js";

type Requested = StateOf<"funds-requested">;
type Funded = Requested & { readonly senderGatewayTransactionId: string };

/** Asks for the money, and claims the payment for this owner. The money is asked for again before every further claim. */
export async function requestFunds(context: FlowContext, owned: OwnedFlow, begun: Requested): Promise<StepResult> {
  const { askedWait, ...state } = begun;
  await waitAsAsked(context, owned, askedWait);
  const wasTaken = state.senderGatewayTransactionId !== undefined;
  if (!wasTaken) context.circuitBreaker?.assertClosed();
  const funds = owned.funds ?? (await askForFunds(context, owned.lease.key, state));
  if (funds === null) return { state: declined(state) };
  // The first process that takes a key's money knows that nobody claimed its payment before.
  if (owned.funds === undefined && !funds.replayed) owned.lease.noteKnowsAllClaims();
  owned.funds = funds;
  const { senderGatewayTransactionId, takenAtMs = state.takenAtMs } = funds;
  const isTakenSince = state.isTakenSince ?? (isFirstTaking(owned, state, funds) ? true : undefined);
  const funded = {
    ...state,
    senderGatewayTransactionId,
    ...(takenAtMs === undefined ? undefined : { takenAtMs }),
    ...(isTakenSince && { isTakenSince }),
  };
  try {
    if (await owned.lease.retake()) owned.mustLook = true;
    const request = claimToRepeat(context, state) ?? (await sign(context, owned, funded));
    const isLost = isLostEntry(owned, state, funds);
    const looked = owned.mustLook || isLost ? await lookFirst(context, owned, funded, request, isLost) : funded;
    if ("state" in looked) return looked;
    // Where the money is taken already, only a new claim has to wait: the look may end the flow.
    if (wasTaken) context.circuitBreaker?.assertClosed();
    owned.funds = undefined;
    return { state: claim(owned.lease, looked, request) };
  } catch (error) {
    // From now on it is known that the money was taken.
    return { state: funded, error };
  }
}

/** Looks for a payment that an earlier owner may have claimed. What it looked at is the state to go on with; otherwise the step ends. */
async function lookFirst(
  context: FlowContext,
  owned: OwnedFlow,
  funded: Funded,
  request: SignedClaim,
  isLost: boolean,
): Promise<Funded | StepResult> {
  const isSure = !owned.mustLook || owned.lease.knowsAllClaims;
  const wholeMs = isSure ? 0 : wholeWaitMs(context, funded);
  const waited = await waitAsOwner(context, owned, funded, { aloneMs: wholeMs, togetherMs: wholeMs, betweenMs: 0 });
  if (!waited.isDue) return { ...waited, isPartial: true };
  const { isProof } = waited;
  // Of an entry that was lost, nobody knows who claimed: an owner of the one that replaces it has to wait.
  if (isProof && owned.mustLook) owned.lease.noteKnowsAllClaims();
  const { look, found } = await lookFor(context, owned, funded, request);
  const looks = withLook(funded.looks, look);
  if (found !== undefined) return { state: { ...funded, looks, phase: "paid", payment: found } };
  const looked = { ...funded, looks, waits: afterLook(funded, isProof) };
  const obstacle = obstacleTo(looked, look, isLost);
  if (obstacle !== undefined) return obstacle;
  // An owner that the journal has forgotten may have given the money back meanwhile.
  if (isProof && !isSure) await askForFunds(context, owned.lease.key, looked);
  if (isProof) return looked;
  return hastyLooks(looked) < context.readBacks ? { state: looked } : heldFor(looked, describeShortLives(wholeMs));
}

/** @throws whatever `takeFunds` throws; {InvalidArgumentError} when it does not return what it has to. */
async function askForFunds(context: FlowContext, key: string, state: Requested): Promise<FlowFunds | null> {
  const returned: unknown = await context.takeFunds({ key, intent: frozenCopy(state.intent) });
  const funds = readFlowFunds(returned, clock.wallMs() + context.bankSkewMs);
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

function assertSameFunds(known: Requested, returned: FlowFunds): void {
  for (const name of ["senderGatewayTransactionId", "takenAtMs"] as const) {
    const [before, now] = [known[name], returned[name]];
    if (before === undefined || now === undefined || before === now) continue;
    throw new InvalidArgumentError(
      `takeFunds returned the ${name} ${JSON.stringify(now)}, and ${JSON.stringify(before)} when it was called with this key before: its first response is final. Nothing is sent until it returns the same one`,
    );
  }
}

function declined({
  phase: _,
  since: __,
  claims: ___,
  looks: ____,
  decisions: _____,
  waits: ______,
  takenAtMs: _______,
  ...rest
}: Requested): FlowState {
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

/** The newest claim that may still turn out to be paid. One that was signed for another base path is no request to this address. */
function claimToRepeat({ scope }: FlowContext, { claims }: Requested): SignedClaim | undefined {
  const claim = openClaim(claims);
  if (claim === undefined) return undefined;
  const basePath = new URL(scope.service).pathname.replace(/\/$/, "");
  return claim.path === basePath + payments.create.path.text ? claim : undefined;
}

async function sign({ client }: FlowContext, { call }: OwnedFlow, state: Funded): Promise<SignedClaim> {
  const input = paymentInput(state.intent, state.senderGatewayTransactionId);
  const signed = await client.sign(payments.create, [], input, call.requestOptions);
  return { ...signed, keyId: await client.signingKeyId() };
}

/** Compares the listed payments with the bytes that would be sent as well: the claim of an earlier process may have been lost. */
async function lookFor(
  context: FlowContext,
  { call }: OwnedFlow,
  state: Funded,
  request: SignedClaim,
): ReturnType<typeof lookForPayment> {
  const claims = [...state.claims, request];
  const { look, found } = await lookForPayment(context, call, { ...state, claims }, "decides");
  return { look: { ...look, claims: state.claims.length }, found };
}

/** A flow whose looks keep being incomplete keeps the last of them only. */
function withLook(looks: readonly Look[], look: Look): readonly Look[] {
  const last = looks.at(-1);
  const isAgain = last !== undefined && !last.complete && last.claims === look.claims;
  return [...(isAgain ? looks.slice(0, -1) : looks), look];
}

function heldFor(state: Funded, reason: string): StepResult {
  return { state: { ...state, phase: "held", reason } };
}

/** What stands in the way of a claim although the payment was not found. */
function obstacleTo(state: Funded, { complete, lookalike, problem }: Look, isLost: boolean): StepResult | undefined {
  if (lookalike !== undefined) {
    return heldFor(
      state,
      "before the payment was sent, one with the same transaction id was found, and its signature or its content is another",
    );
  }
  if (!complete) {
    const { name: operation } = payments.list;
    const message = `${operation}: the payment may have been made by an earlier process, and its list of payments does not rule that out: ${problem}`;
    return {
      state,
      error: new CrossBorderError(message, { code: "flow_payment_unseen", effect: "possible", operation }),
    };
  }
  if (!isLost) return undefined;
  return heldFor(
    state,
    "takeFunds said in this flow's first call that the money of this key had been taken before, and no payment of it was found: either an earlier entry of it was lost, or takeFunds repeated a request of its own and returned what came in response to the repetition",
  );
}

/** A claim begins with a whole lease, so that there is time to send it. */
function claim(
  lease: Lease,
  { waits: _, ...state }: Funded,
  { path, body, signature, keyId }: SignedClaim,
): StateOf<"claimed"> {
  const made: Claim = {
    path,
    body,
    signature,
    ...(keyId === undefined ? undefined : { keyId }),
    ...lease.beginClaim(),
  };
  return { ...state, phase: "claimed", claim: made, claims: [...state.claims, made] };
}
