import { describe, expect, it } from "vitest";
import { FlowCall } from "../../../src/flows/flow-call.js";
import type { FlowContext, OwnedFlow } from "../../../src/flows/flow-context.js";
import type { OperatorDecision, StateOf } from "../../../src/flows/state/flow-state.js";
import { releaseFunds } from "../../../src/flows/steps/release-funds.js";
import { Alarm } from "../../../src/timing/alarm.js";
import { type Listed, listedService, madeAt, paymentsFrom } from "../../payments/listed-service.js";
import { intent } from "../gateway-client.js";
import { lookContext } from "../look-context.js";
import { errorOf } from "../results.js";

const claim = { body: "{}", signature: "b3du", claimedAtMs: 0, sendByMs: 1000 };
const own: Listed = { ...listed(11), creationRequestSignatureBase64: claim.signature };
const alike: Listed = { ...listed(11), senderGatewayTransactionId: "tx-own" };

function listed(token: number): Listed {
  return { id: `p-${token}`, pagingToken: String(token), createdAt: madeAt(token) };
}

const byOperator = { refusal: { by: "operator" } } as never;
const proof: OperatorDecision = { action: "release", by: "Olga", why: "ticket", atMs: 1 };
const noProof = { ...proof, withoutProof: true } as const;

interface Refused {
  readonly service?: ReturnType<typeof listedService>;
  readonly state?: Partial<StateOf<"refused">>;
  readonly mustLook?: boolean;
  readonly knowsAllClaims?: boolean;
  readonly isRetaken?: boolean;
}

/** What an owner does that has had a refused flow for long enough. */
function refusedFlow({
  service = listedService([]),
  state,
  mustLook = true,
  knowsAllClaims = false,
  isRetaken = false,
}: Refused) {
  const done: string[] = [];
  const lease = {
    key: "k",
    knowsAllClaims,
    ownedSinceMs: Number.NEGATIVE_INFINITY,
    retake: async () => isRetaken,
    noteKnowsAllClaims: () => done.push("knows all claims"),
  };
  const owned = { lease, call: new FlowCall(undefined, new Alarm(), undefined), mustLook } as unknown as OwnedFlow;
  const context = {
    ...lookContext(service.client),
    leaseMs: 1000,
    readBackDelayMs: 10,
    releaseFunds: ({ key }: { readonly key: string }) => done.push(`gives back ${key}`),
  } as unknown as FlowContext;
  const refused = {
    ...{ phase: "refused", intent, senderGatewayTransactionId: "tx-own", claims: [claim], since: null },
    ...{ refusal: { status: 400 }, decisions: [], ...state },
  } as unknown as StateOf<"refused">;
  return { owned, done, release: () => releaseFunds(context, owned, refused) };
}

const cached = () => listedService(paymentsFrom(1, 10), () => ({ age: 7 }));
const failing = () =>
  listedService([], () => {
    throw new Error("the list is away");
  });

describe("who can't tell that nobody has paid", () => {
  it("gives the money back once the payment is certainly not listed, and need not look again", async () => {
    const { owned, done, release } = refusedFlow({ service: listedService(paymentsFrom(1, 10)) });
    expect(await release()).toMatchObject({ state: { phase: "rejected", senderGatewayTransactionId: "tx-own" } });
    expect(done).toEqual(["knows all claims", "gives back k"]);
    expect(owned.mustLook).toBe(false);
  });

  it.each([
    ["the payment is listed", own],
    ["one like it is listed", alike],
  ])("leaves it to an operator where %s", async (_, payment) => {
    const { owned, done, release } = refusedFlow({ service: listedService([...paymentsFrom(1, 10), payment]) });
    expect(await errorOf(release())).toMatchObject({
      ...{ code: "flow_payment_found", effect: "possible" },
      message: expect.stringMatching(
        /is among the listed ones all the same: that is not done before an operator decides$/,
      ),
    });
    expect([done, owned.mustLook]).toEqual([[], true]);
  });

  it("gives nothing back where the list is too old to show it", async () => {
    const { done, release } = refusedFlow({ service: cached() });
    expect(await errorOf(release())).toMatchObject({
      ...{ code: "flow_payment_unseen", effect: "possible" },
      message: expect.stringMatching(/may be there although it was not seen: the list came from a cache, 7 s old$/),
    });
    expect(done).toEqual([]);
  });

  it("looks twice at what takes several pages, for a payment that moved meanwhile", async () => {
    const payments = paymentsFrom(1, 300);
    const service = listedService(payments, (_paging, number) => {
      // From behind what was read to before it.
      if (number === 4) payments.push({ ...own, pagingToken: "250.5", createdAt: madeAt(250) });
      return undefined;
    });
    const { done, release } = refusedFlow({ service });
    expect(await errorOf(release())).toMatchObject({ code: "flow_payment_found" });
    expect(done).toEqual([]);
  });

  it("looks also where it only stood still", async () => {
    const { release } = refusedFlow({ service: listedService([own]), mustLook: false, isRetaken: true });
    expect(await errorOf(release())).toMatchObject({ code: "flow_payment_found" });
  });
});

it.each<[string, Refused]>([
  ["has had the flow all the time", { mustLook: false }],
  ["knows of every claim", { knowsAllClaims: true }],
])("asks for no list where its owner %s", async (_, more) => {
  const service = listedService([own]);
  const { done, release } = refusedFlow({ service, ...more });
  expect(await release()).toMatchObject({ state: { phase: "rejected" } });
  expect([done, service.requested]).toEqual([["gives back k"], []]);
});

describe("where an operator decided without a proof", () => {
  const state = { ...(byOperator as object), decisions: [noProof] };

  it.each([
    ["is too old", cached],
    ["is away", failing],
    ["shows one like it", () => listedService([alike])],
    ["does not show it", () => listedService(paymentsFrom(1, 10))],
  ])("the money is given back although the list %s, and the next owner looks for itself", async (_, service) => {
    const { done, release } = refusedFlow({ service: service(), state });
    await release();
    expect(done).toEqual(["gives back k"]);
  });

  it("it is not where the payment is there", async () => {
    const { done, release } = refusedFlow({ service: listedService([own]), state });
    expect(await errorOf(release())).toMatchObject({ code: "flow_payment_found" });
    expect(done).toEqual([]);
  });
});

it.each<[string, boolean, Partial<StateOf<"refused">>]>([
  ["of one person without a proof", true, { decisions: [noProof] }],
  ["that was approved without a proof", true, { decisions: [{ ...noProof, step: "approved" }] }],
  [
    "with a proof, after which one without was proposed",
    false,
    { decisions: [proof, { ...noProof, step: "proposed" }] },
  ],
  [
    "without a proof, after which something else was decided",
    true,
    { decisions: [noProof, { ...proof, action: "resend" }] },
  ],
  ["with a proof", false, { decisions: [noProof, proof] }],
  ["to send it again without a proof", false, { decisions: [{ ...noProof, action: "resend" }] }],
  ["that the journal has lost", false, { decisions: [] }],
  [
    "without a proof, before the service refused the payment",
    false,
    { refusal: { status: 400 }, decisions: [noProof] } as never,
  ],
])("by a decision %s the money is given back unseen: %s", async (_, isGivenBack, state) => {
  const { done, release } = refusedFlow({ service: cached(), state: { ...(byOperator as object), ...state } });
  if (isGivenBack) await release();
  else expect(await errorOf(release())).toMatchObject({ code: "flow_payment_unseen" });
  expect(done).toEqual(isGivenBack ? ["gives back k"] : []);
});
