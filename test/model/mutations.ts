import type { LooseRule } from "./journal.js";
import type { WorldOptions } from "./world.js";
import type { WorldName } from "./worlds.js";

export interface Mutation {
  /** The rule of the flow that is taken out. */
  readonly rule: string;
  /** Where to look for what breaks. */
  readonly worlds: readonly WorldName[];
  /** Changes of the core: file, text that occurs once, and what replaces it. */
  readonly edits?: readonly (readonly [file: string, find: string, replace: string])[];
  /** Or a rule of the journal or the driver. */
  readonly loose?: LooseRule | NonNullable<WorldOptions["loose"]>;
}

const decided = "return does({ ...owner, decision: call.decision }, search(flow));";
const sendAgain = '{ senderGatewayTransactionId: "t", replayed: true, takenAtMs: 0 }';

export const mutations: readonly Mutation[] = [
  {
    rule: "1: an entry that is there counts",
    worlds: ["runs"],
    edits: [
      [
        "next.ts",
        "return afterRead(call, event); // The key was there already.",
        'return event.is === "entry" ? enter({ at: "owning", call, flow: to, began: true }) : afterRead(call, event);',
      ],
    ],
  },
  { rule: "1: a quote is confirmed in time, by the journal's clock", worlds: ["quotes", "strict"], loose: "inTime" },
  {
    rule: "2: null is declined",
    worlds: ["run"],
    edits: [
      [
        "owner.ts",
        "return event.funds === null ? withoutFunds(owner) :",
        `return event.funds === null ? withFunds({ ...owner, funds: ${sendAgain} }, ${sendAgain}, config) :`,
      ],
    ],
  },
  {
    rule: "2: the bank is asked again before a further claim",
    worlds: ["restoredSingle", "restoredOperator", "lostOperator"],
    edits: [
      [
        "owner.ts",
        'if (flow.notBeforeMs === undefined) return does(owner, { do: "takeFunds", flow });',
        `if (flow.signed && owner.searched) return withFunds({ ...owner, flow }, ${sendAgain}, { bankSkewMs: 0 });\n      if (flow.notBeforeMs === undefined) return does(owner, { do: "takeFunds", flow });`,
      ],
    ],
  },
  {
    rule: "3: a search before the first claim",
    worlds: ["restored", "restoredRuns"],
    edits: [
      [
        "owner.ts",
        "if (!funds.replayed || owner.searched === true)",
        "if (!funds.replayed || owner.searched === true || flow.signed === undefined)",
      ],
    ],
  },
  {
    rule: "3: a search before a further claim",
    worlds: ["restored", "restoredRuns", "restoredOperator"],
    edits: [
      [
        "owner.ts",
        "if (!funds.replayed || owner.searched === true)",
        "if (!funds.replayed || owner.searched === true || flow.signed !== undefined)",
      ],
    ],
  },
  {
    rule: "3: the first claim of a lost entry is held",
    worlds: ["lostForbidden", "lostConfirms"],
    edits: [["owner.ts", "return isLost ? hold", "return isLost && flow.request === undefined ? hold"]],
  },
  {
    rule: "3: lost, as the call that created or confirmed the entry knows",
    worlds: ["lostRecently"],
    edits: [["owner.ts", "return began || (funds", "return (funds"]],
  },
  {
    rule: "3: lost, as the time of the money shows to everyone",
    worlds: ["lostForbidden", "lostConfirms"],
    edits: [["owner.ts", "return began || (funds", "return began || (flow.request === undefined && funds"]],
  },
  {
    rule: "3: lost, and remembered while the list can't be read",
    worlds: ["lostRecently"],
    edits: [["owner.ts", "isLost ? { ...waiting, wasLost: true } : waiting", "waiting"]],
  },
  {
    rule: "3: what was there before counts as sent",
    worlds: ["lostForbiddenOperator", "lostOperator"],
    edits: [["owner.ts", "open: Math.max(1, tries.open)", "open: tries.open"]],
  },
  {
    rule: "3: searches go back to the time of the money",
    worlds: ["lostOperator"],
    edits: [
      ["owner.ts", "begunAtMs: Math.min(flow.begunAtMs, funds.takenAtMs - bankSkewMs)", "begunAtMs: flow.begunAtMs"],
    ],
  },
  {
    rule: "3: a list that can't be read for now is read again",
    worlds: ["restored", "restoredRuns"],
    edits: [
      [
        "owner.ts",
        "if (tries.unread >= config.maxUnread)",
        "if (tries.unread >= 0) return claim(owner, flow);\n    if (tries.unread >= config.maxUnread)",
      ],
    ],
  },
  {
    rule: "3: a possible match isn't absent",
    worlds: ["lostSkew"],
    edits: [["steps.ts", 'return result.is === "found" || result.is === "match";', 'return result.is === "found";']],
  },
  {
    rule: "4: a claim is stored before it's sent",
    worlds: ["run"],
    edits: [
      [
        "owner.ts",
        'return store(owner, { ...beginningOf(flow), signed: flow.signed, phase: "claimed", tries });',
        'const to: Claimed = { ...beginningOf(flow), signed: flow.signed, phase: "claimed", tries };\n  return does({ ...owner, flow: to }, { do: "send", flow: to });',
      ],
    ],
  },
  {
    rule: "4: a claim is sent once, by the owner that stored it",
    worlds: ["run"],
    edits: [
      [
        "owner.ts",
        'return store(owner, { ...flow, phase: "unknown" }); // Rule 13',
        'return does(owner, { do: "send", flow }); // Rule 13',
      ],
    ],
  },
  { rule: "4: a claim isn't sent after its lease", worlds: ["listed"], loose: "lease" },
  {
    rule: "4: a claim that wasn't sent is taken back",
    worlds: ["ordinary"],
    edits: [
      [
        "owner.ts",
        "return store(owner, withdrawn(flow), paused(response.failure));",
        'return store(owner, { ...flow, phase: "unknown" });',
      ],
    ],
  },
  {
    rule: "6: one search before the money is given back",
    worlds: ["duplicates"],
    edits: [
      [
        "owner.ts",
        "return does({ ...owner, refusal: response.refusal }, search(flow));",
        'return afterRefusal(owner, response.refusal, { is: "absent" });',
      ],
    ],
  },
  {
    rule: "6: a refusal of what was sent before is held",
    worlds: ["single"],
    edits: [["owner.ts", "if (flow.tries.open === 1)", "if (flow.tries.open > 0)"]],
  },
  {
    rule: "7: a 401 or 429 isn't a refusal, nor unknown",
    worlds: ["ordinary"],
    edits: [
      [
        "owner.ts",
        "const again = withdrawn(owner.flow);",
        'const again = withdrawn(owner.flow);\n  if (is === "throttled") return store(owner, { ...owner.flow, phase: "unknown" });',
      ],
    ],
  },
  {
    rule: "8: absence isn't a refusal",
    worlds: ["run"],
    edits: [
      [
        "owner.ts",
        'return store(owner, held(flow, "not-found",',
        'if (flow.request) return store(owner, { ...flow, phase: "refused", refusal: { by: "service", code: "absent", message: "" } });\n  return store(owner, held(flow, "not-found",',
      ],
    ],
  },
  {
    rule: "8: absence is no reason to send again",
    worlds: ["run"],
    edits: [["owner.ts", "if (singleUseIntents === true)", "if (flow.request)"]],
  },
  {
    rule: "10: the search that proves absence begins late enough",
    worlds: ["listed"],
    edits: [
      ["owner.ts", "if (owner.isProof !== true)", "if (owner.isProof === undefined && flow.request === undefined)"],
    ],
  },
  { rule: "10: not only after the owner's acquire", worlds: ["listed"], loose: "fromAcquire" },
  { rule: "10: not only after the end of its own request", worlds: ["listed"], loose: "fromRequest" },
  {
    rule: "10: only a complete search proves absence",
    worlds: ["listed"],
    edits: [["owner.ts", 'if (result.is === "absent") return repeat', "if (result.is) return repeat"]],
  },
  {
    rule: "11: release searches first",
    worlds: ["operator"],
    edits: [
      [
        "owner.ts",
        decided,
        `return carryOut(owner, call.decision, call.decision.action === "release" ? { is: "absent" } : { is: "unreadable" });`,
      ],
    ],
  },
  {
    rule: "11: resend searches first",
    worlds: ["operator"],
    edits: [
      [
        "owner.ts",
        decided,
        `return carryOut(owner, call.decision, call.decision.action === "resend" ? { is: "absent" } : { is: "unreadable" });`,
      ],
    ],
  },
  {
    rule: "11: a payment that was found is neither released nor sent again",
    worlds: ["operator"],
    edits: [
      ["owner.ts", 'if (result.is === "found") return leave', 'if (result.is === "match") return leave'],
      ["owner.ts", 'if (result.is !== "absent" &&', 'if (result.is !== "absent" && result.is !== "found" &&'],
    ],
  },
  {
    rule: "11: a search that isn't complete needs withoutProof",
    worlds: ["operator"],
    edits: [
      ["owner.ts", 'if (result.is !== "absent" && decision.withoutProof !== true)', 'if (result.is === "match")'],
    ],
  },
  {
    rule: "11: only a held flow is decided on",
    worlds: ["operator"],
    edits: [
      [
        "next.ts",
        'return flow.phase === "held" ? acquire(call) : done(call, thrown("flow_not_held", effectOf(flow)));',
        "return acquire(call);",
      ],
      [
        "next.ts",
        'return flow.phase === "held" ? decide({ ...owner, flow }, call, revision) :',
        'return "signed" in flow && flow.signed ? decide({ ...owner, flow: { ...flow, signed: flow.signed, phase: "held", why: "not-found" } as never }, call, revision) :',
      ],
    ],
  },
  {
    rule: "11: a decision names the revision that was seen",
    worlds: ["operatorsQuiet"],
    edits: [
      ["owner.ts", "if (call.revision !== undefined && call.revision !== revision)", "if (call.revision === -1)"],
    ],
  },
  {
    rule: "11: an approval names the revision that was seen",
    worlds: ["pairsOfThree"],
    edits: [
      [
        "owner.ts",
        "if (call.revision !== undefined && call.revision !== revision)",
        'if (call.step !== "approve" && call.revision !== undefined && call.revision !== revision)',
      ],
    ],
  },
  {
    rule: "11: nobody approves a proposal of their own",
    worlds: ["pairs"],
    edits: [["owner.ts", "if (isSamePerson(proposal.by, by))", 'if (isSamePerson(proposal.by, ""))']],
  },
  {
    rule: "11: what is carried out is the stored proposal",
    worlds: ["pairs"],
    edits: [
      [
        "owner.ts",
        "decision: { ...proposal, approvedBy: by }",
        "decision: { ...proposal, withoutProof: true, approvedBy: by }",
      ],
    ],
  },
  {
    rule: "12: a begin of unknown fate is a FlowPausedError",
    worlds: ["run"],
    edits: [
      [
        "next.ts",
        "return afterRead(call, event); // The key",
        'if (event.is === "failed") return done(call, thrown("x", "none"));\n      return afterRead(call, event); // The key',
      ],
    ],
  },
  {
    rule: "12: the key is read again before an error says none",
    worlds: ["runs"],
    edits: [
      [
        "next.ts",
        'return { state: { at: "failing", call, failure }, command: { do: "read" } };',
        'return done(call, { thrown: { ...failure, effect: "none" } });',
      ],
    ],
  },
  {
    rule: "12: a key that can't be read is a FlowPausedError",
    worlds: ["runs"],
    edits: [
      [
        "next.ts",
        "    default:\n      return done(call, paused(failureOf(event)));\n  }\n}\n\nfunction withEntry",
        '    default:\n      return done(call, thrown("x", "none"));\n  }\n}\n\nfunction withEntry',
      ],
    ],
  },
  {
    rule: "13: a claim that is taken over is searched for",
    worlds: ["run"],
    edits: [
      [
        "owner.ts",
        'return store(owner, { ...flow, phase: "unknown" }); // Rule 13',
        'return store(owner, { ...flow, phase: "funds-requested" }); // Rule 13',
      ],
    ],
  },
  { rule: "ownership: a write names its revision", worlds: ["run"], loose: "revision" },
  { rule: "ownership: a write names its epoch and nonce", worlds: ["run", "runs"], loose: "owner" },
  { rule: "ownership: a pruned key leaves a tombstone", worlds: ["pruned"], loose: "tombstone" },
];
