/** Why some cells may stay unreached in the 7,000 guided schedules of CI. */
export interface Reason {
  readonly cells: RegExp;
  readonly why: string;
}

export const reasons: readonly Reason[] = [
  {
    cells: /: (the journal fails over|the base URL changes|the list is old): /,
    why: "happens in worlds of its own alone: failovers, addresses, old lists",
  },
  {
    cells: /: (a page is stale|a page is empty once|a lookalike is listed|the journal is restored): /,
    why: "happens in few schedules of every world, and often in those of stale pages, empty pages, restores",
  },
  {
    cells: /: the journal's clock is set back: (?!claimed|unknown)/,
    why: "happens once, in a tenth of the schedules; often in the worlds of late confirmations and short lives",
  },
  {
    cells:
      /^claimed: (the payment is lost|the payment's response is lost|the payment is refused.*|the payment arrives.*, and (something else|a proxy).*|something else.*): paid$/,
    why: "no response says that the payment was made: a later look does",
  },
  {
    cells: /^claimed: (the payment|something else).*: (funds-requested|held)$/,
    why: "a claim is dropped before it is sent alone: what happens to a payment meanwhile happens to that of an owner before",
  },
  {
    cells: /^claimed: (?!the connection is (refused|slow): funds-requested).*: (funds-requested|held)$/,
    why: "a claim is dropped in the moments before it is sent alone, and held only where it was to be sent once more",
  },
  {
    cells: /^claimed: (its process|its caller|another|the connection is refused).*: paid$/,
    why: "its owner is stopped, or another one gets it, between the claim and the response, and the response is heard all the same",
  },
  {
    cells: /^claimed: the payment is sent twice, the second time late: unknown$/,
    why: "the response to the first one has to be missed as well",
  },
  {
    cells: /^refused: (?!nothing: rejected)/,
    why: "one flow in a hundred is given back, and what is done there is one call of the bank",
  },
  {
    cells: /^held: /,
    why: "operators decide about few flows, and nothing but their decision moves one",
  },
  {
    cells: /^quoted: (?!nothing: )/,
    why: "a quote is replaced by one write, and meets whatever happens to that one alone",
  },
  {
    cells: /^funds-requested: (?!takeFunds declines: declined).*: (paid|held|declined)$/,
    why: "a payment, or a lookalike, is found before the first claim only after entries were lost, and a bank declines few flows",
  },
  {
    cells: /^funds-requested: .*: refused$/,
    why: "an operator has to release a flow that is stuck, and those of the simulation decide about held ones alone",
  },
  {
    cells: /^funds-requested: takeFunds declines: (goes on|claimed)$/,
    why: "what the bank declines is declined",
  },
  {
    cells: /^funds-requested: (nothing: goes on|takeFunds (fails|takes, and its response is lost): (goes on|claimed))$/,
    why: "after a failure of the bank the flow is tried again by its next owner, mostly under another happening",
  },
  {
    cells: /^unknown: (?!nothing: ).*: (refused|funds-requested)$/,
    why: "money is given back, or a payment sent again, after a look that nothing disturbs",
  },
  {
    cells: /^unknown: (its process is killed|its caller gives up|the payment is not listed yet): (fails|paid|held)$/,
    why: "the happening ends the step itself, and belongs to the next owner's one",
  },
  {
    cells: /^no flow: (?!the intent is refused: ).*: rejected$/,
    why: "an intent is refused in few schedules",
  },
  {
    cells: /^no flow: (no list comes|the list comes from a cache): /,
    why: "the mark is one request, which serves all flows of a process for a second",
  },
  {
    cells:
      /^rule: (what is stored of a flow names its new base URL, too|.* flow that is moved .*|open flows under another .*)$/,
    why: "a base URL changes in the world of addresses alone",
  },
  {
    cells: /^takeFunds was called after a release$/,
    why: "a released flow is settled: the bank is asked once more only where the journal has lost that",
  },
  {
    cells: /^releaseFunds was called again$/,
    why: "the first response has to be lost, or the journal's write of it",
  },
];

/** Why a mark may stay unreached, if there is a reason. */
export function reasonFor(mark: string): string | undefined {
  return reasons.find(({ cells }) => cells.test(mark))?.why;
}
