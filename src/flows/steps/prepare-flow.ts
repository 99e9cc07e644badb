import { type PaymentIntent, type PaymentIntentRequest, PaymentIntents } from "../../resources/payment-intents.js";
import type { FlowCall } from "../flow-call.js";
import type { FlowContext } from "../flow-context.js";
import { isPassing, toFlowRefusal } from "../state/flow-refusal.js";
import type { Mark, StateOf } from "../state/flow-state.js";
import { assertPayable } from "./assert-payable.js";

/** Does whatever can fail without harm, before a flow is stored that takes money. An intent that is refused for good rejects the flow. */
export async function prepareFlow(
  context: FlowContext,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<StateOf<"funds-requested" | "rejected">> {
  let quote: StateOf<"quoted">;
  try {
    quote = await prepareQuote(context, request, call);
  } catch (error) {
    const refusal = toFlowRefusal(error);
    if (refusal === undefined || isPassing(refusal)) throw error;
    return { phase: "rejected", request, refusal };
  }
  return payable(quote, await context.newestPayment.mark(call));
}

/** Asks the service for an intent that can be paid. */
export async function prepareQuote(
  context: FlowContext,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<StateOf<"quoted">> {
  const { client } = context;
  const intent: PaymentIntent = await new PaymentIntents(client).create(request, call.requestOptions);
  await assertPayable(client, request, intent, call.requestOptions);
  return withOwnKey(client, { phase: "quoted", request, intent });
}

/** The same quote, as one of the key that this client signs with. */
export async function withOwnKey(client: FlowContext["client"], quote: StateOf<"quoted">): Promise<StateOf<"quoted">> {
  const keyId = await client.signingKeyId();
  return keyId === undefined ? quote : { ...quote, keyId };
}

/** A flow whose money may be asked for. */
export function payable(quote: StateOf<"quoted">, since: Mark): StateOf<"funds-requested"> {
  return { ...quote, phase: "funds-requested", since, claims: [], looks: [], decisions: [] };
}
