import type { Action, Flow, Held, HeldReason, Searches, Words } from "./state.js";

// Every sentence about a flow that people read. The sandbox, the desk, and the CLI take their texts from here.

/** Why a flow is held, and the results of its searches. */
export function heldReason({ why, said, searches }: Held): string {
  const words = said === undefined ? "" : ` (${quoted(said)})`;
  const searched = searches === undefined ? "" : ` ${searchReason(searches)}`;
  return reasons[why](words, said) + searched;
}

const reasons: Readonly<Record<HeldReason, (words: string, said: Words | undefined) => string>> = {
  "not-found": (words, said) => {
    if (said === undefined) return "The process that sent the payment stopped before it stored a response.";
    return said.status === undefined
      ? `No response from the service${words}.`
      : `The service's response doesn't say whether the payment was made${words}.`;
  },
  "entry-lost": () =>
    "The bank had taken this key's money before, and the journal's entry of that time is lost. The payment may have been made then.",
  unreadable: () =>
    "The bank had taken this key's money before, and the list of payments couldn't be read for some 20 minutes.",
  "possible-match": () =>
    "A listed payment has this flow's sender gateway and transaction id, but another body. Compare it before you decide.",
  "refused-after-repeat": (words) =>
    `The service refused a request that had been sent before${words}. The payment may have been made by the earlier request.`,
  unauthorized: (words) =>
    `The service refused the access token or the signature again and again for some 20 minutes${words}. Nothing was paid by these requests.`,
  "money-gone": () => "The payment may have been made, but takeFunds returned null: the bank no longer has its money.",
};

function searchReason({ times, last }: Searches): string {
  return `Searched ${counts[times] ?? `${times} times`}; ${results[last]}.`;
}

const counts: Readonly<Record<number, string>> = { 1: "once", 2: "twice" };

const results: Readonly<Record<Searches["last"], string>> = {
  absent: "the payment isn't listed",
  incomplete: "the payment wasn't found, and the list doesn't prove that it isn't there",
  unreadable: "the list couldn't be read",
  forbidden: "the service refuses to list payments",
};

/** What an open flow does or waits for. */
export function openReason(flow: Flow): string | undefined {
  switch (flow.phase) {
    case "quoted":
      return "Waits for confirm, cancel, or the end of the quote.";
    case "funds-requested":
      return waitReason(flow.said, flow.tries.unread, flow.notBeforeMs !== undefined);
    case "claimed":
      return "The signed payment is stored, and may be sent at any moment.";
    case "unknown":
      return "The payment may have been made. The flow searches for it in the list.";
    case "refused":
      return `The payment was not made (${quoted(flow.refusal)}). The money must be given back.`;
    case "held":
      return heldReason(flow);
    case "paid":
    case "declined":
    case "rejected":
      return undefined;
  }
}

function waitReason(said: Words | undefined, unread: number, isWaiting: boolean): string {
  if (!isWaiting) return "Waits for takeFunds. Then the payment is signed and sent.";
  if (said !== undefined) return `Waits before the payment is sent again: the service said ${quoted(said)}.`;
  return `Waits before the list of payments is read again. It couldn't be read (${unread} of 8 times).`;
}

function quoted({ status, code, message }: Words): string {
  const known = code === `http_${status}` ? String(status) : `${status ?? ""} ${code}`.trim();
  return [known, message].filter((part) => part !== "").join(": ");
}

/** What an operator must know before they decide. */
export interface DecisionEffect {
  /** What they must know for certain. */
  readonly needs: string;
  /** What happens before the decision is stored. */
  readonly does: string;
  /** What the program that works on the flow does afterwards. */
  readonly follows: string;
}

const searches =
  "The payment is searched for. If it is listed, nothing is decided. The same if the list can't be read, unless you decide without proof.";

export const decisionEffects: Readonly<Record<Action, DecisionEffect>> = {
  found: {
    needs: "The service's own record of the payment: listed, or given to you.",
    does: "The flow is settled as paid, with that record.",
    follows: "Nothing. The money stays taken.",
  },
  release: {
    needs:
      "The word of the service's operators that the payment was not made and won't be. An absent record proves nothing.",
    does: searches,
    follows: "The program calls releaseFunds, which gives the money back.",
  },
  resend: {
    needs:
      "The word of the service's operators that the payment was not made and that the earlier request won't make it. An absent record proves nothing.",
    does: searches,
    follows: "The program calls takeFunds again, searches, and sends the same bytes again.",
  },
};

/** Why a call or a decision was refused, and what to do. By the error's code. */
export const refusals = {
  flow_key_reused: "The key belongs to a payment with another request. Use a new key for a new payment.",
  flow_confirmed: "The quote was confirmed or cancelled. Call status or confirm.",
  quote_changed: "The quote of this key is another one now. Show it, and confirm its intentId.",
  quote_expired: "The quote has expired. Call quote again.",
  flow_unknown: "There is no flow with this key.",
  flow_pruned:
    "The flow of this key ended, and was pruned. Its payment may have been made. Use a new key for a new payment.",
  flow_not_held: "Only held flows can be resolved. Read the flow's status.",
  flow_busy: "Another process works on this flow. Try again in a moment.",
  flow_changed: "The flow has changed since you saw it. Read it again, and decide then. Nothing was decided.",
  flow_not_proposed: "There is no proposal for this flow.",
  flow_same_person: "Another person must approve this proposal.",
  flow_payment_found: "The payment is listed: it was made. Resolve the flow as found.",
  flow_payment_not_found:
    "The payment isn't listed, or the record that was given is another payment's. Pass the service's record as payment.",
  flow_payment_unseen:
    "The list of payments couldn't be read, or shows a possible match. Check the base URL and the login. Nothing was decided.",
  flow_unexpected_event: "The flow stopped because of an internal error. Nothing was changed.",
} as const;
