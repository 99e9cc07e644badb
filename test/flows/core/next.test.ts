import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { next, resume, start } from "../../../src/flows/core/next.js";
import type {
  Call,
  Claimed,
  Config,
  Decision,
  Entry,
  Event,
  Flow,
  FundsRequested,
  Held,
  Owner,
  Refusal,
  Result,
  Signed,
  State,
  Step,
} from "../../../src/flows/core/state.js";
import type { PaymentIntent, PaymentIntentRequest } from "../../../src/resources/payment-intents.js";
import type { Payment } from "../../../src/resources/payments.js";

type EventBody = Event extends infer E ? (E extends Event ? Omit<E, "nowMs"> : never) : never;

const nowMs = 10_000;
const config: Config = { readBacks: 1, bankSkewMs: 100, maxUnauthorized: 1, maxUnread: 1, maxRepeats: 1, facts: {} };
const request = { memo: "m" } as PaymentIntentRequest;
const intent = { id: "1" } as PaymentIntent;
const payment = { id: "p" } as Payment;
const signed: Signed = { senderGatewayTransactionId: "t", path: "/payments", body: "{}", signature: "s" };
const refusal: Refusal = { by: "service", status: 400, code: "no", message: "No." };
const said = { status: 401, code: "c", message: "" };
const decision: Decision = { action: "release", by: "ann", why: "w", atMs: 0 };
const tries = { open: 0, unauthorized: 0, throttled: 0, unread: 0, repeated: 0 };
const begun = { request, intent, begunAtMs: 5_000, tries };

const quoted: Flow = { phase: "quoted", request, intent };
const requested: FundsRequested = { ...begun, phase: "funds-requested" };
const again: FundsRequested = { ...requested, signed, tries: { ...tries, open: 1, repeated: 1 } };
const claimed: Claimed = { ...begun, phase: "claimed", signed, tries: { ...tries, open: 1 } };
const claimedAgain: Claimed = { ...claimed, tries: { ...tries, open: 2, unauthorized: 1 } };
const unknown: Flow = { ...claimed, phase: "unknown" };
const refused: Flow = { ...claimed, phase: "refused", refusal };
const held: Held = { ...claimed, phase: "held", why: "not-found" };
const proposed: Held = { ...held, proposal: decision };
const paid: Flow = { ...claimed, phase: "paid", payment };
const declined: Flow = { phase: "declined", request, intent };
const rejected: Flow = { phase: "rejected", request, refusal };

const entry = (flow: Flow, isExpired = false): Entry => ({ flow, revision: 7, isExpired });
const read = (flow: Flow, isExpired = false): EventBody => ({ is: "entry", entry: entry(flow, isExpired) });
const response = (one: Extract<Event, { is: "response" }>["response"]): EventBody => ({
  is: "response",
  response: one,
});
const replayed = (takenAtMs: number): EventBody => ({
  is: "funds",
  funds: { senderGatewayTransactionId: "t", replayed: true, takenAtMs },
});

const events = {
  nothing: { is: "entry", entry: undefined },
  quoted: read(quoted),
  "expired quote": read(quoted, true),
  open: read(claimed),
  held: read(held),
  paid: read(paid),
  declined: read(declined),
  rejected: read(rejected),
  pruned: { is: "pruned" },
  owned: { is: "owned", entry: entry(held) },
  stored: { is: "stored" },
  "write refused": { is: "refused" },
  busy: { is: "busy" },
  intent: { is: "intent", intent },
  "intent refused": { is: "intentRefused", refusal, failure: { code: "no", effect: "none" } },
  "null funds": { is: "funds", funds: null },
  funds: { is: "funds", funds: { senderGatewayTransactionId: "t", replayed: false } },
  replayed: replayed(5_000),
  "replayed, older": replayed(1_000),
  signed: { is: "signed", signed },
  "201": response({ is: "paid", payment }),
  "400": response({ is: "refused", refusal }),
  "401": response({ is: "unauthorized", said }),
  "429": response({ is: "throttled", said, retryAtMs: 12_345 }),
  "not sent": response({ is: "notSent", failure: { code: "no_route", effect: "none" } }),
  timeout: response({ is: "unknown", said }),
  found: { is: "searched", result: { is: "found", payment } },
  match: { is: "searched", result: { is: "match", payment } },
  absent: { is: "searched", result: { is: "absent" } },
  unreadable: { is: "searched", result: { is: "unreadable" } },
  forbidden: { is: "searched", result: { is: "forbidden" } },
  done: { is: "done" },
  failed: { is: "failed", failure: { code: "gone", effect: "none" } },
} as const satisfies Record<string, EventBody>;
type EventName = keyof typeof events;

const calls = {
  run: { kind: "run", request },
  quote: { kind: "quote", request },
  confirm: { kind: "confirm", intentId: "1" },
  cancel: { kind: "cancel" },
  recheck: { kind: "recheck" },
  recover: { kind: "recover" },
} as const satisfies Record<string, Call>;
const resolve = (more: object): Call => ({ kind: "resolve", step: "decide", decision, ...more }) as Call;
const reading = (call: Call): State => start(call).state;
const owning = (flow: Flow, more: Partial<Owner> = {}): State => ({
  at: "owning",
  call: calls.run,
  flow,
  began: false,
  ...more,
});
const writing = (to: Flow, call: Call = calls.run): State => ({
  at: "writing",
  owner: { at: "owning", call, flow: requested, began: true },
  to,
});
const acquiring = (call: Call): State => ({ at: "acquiring", call });
const sought = { funds: { senderGatewayTransactionId: "t", replayed: true, takenAtMs: 5_000 }, signed } as const;
const proof = { readBacks: 2, isProof: true } as const;

/** Refuses each entry that is there. The effect is "possible" once money was asked for. */
const refuses = (code: string) => {
  const [none, possible] = [`done: thrown ${code} none`, `done: thrown ${code} possible`];
  const open = { open: possible, held: possible, paid: possible };
  return { quoted: none, "expired quote": none, ...open, declined: none, rejected: none, pruned };
};
const pruned = "done: thrown flow_pruned possible";
const outcomes = { held: "done: held", paid: "done: paid", declined: "done: declined", pruned };
const runReads = {
  nothing: "createIntent",
  quoted: "replaceQuote funds-requested in time",
  "expired quote": "createIntent",
  open: "acquire",
  rejected: "done: rejected",
  ...outcomes,
};

const responses = {
  "201": "write paid",
  "400": "search",
  "401": "write funds-requested, waits",
  "429": "write funds-requested, waits",
  "not sent": "write funds-requested",
  timeout: "write unknown",
};
const notFound = "write held not-found";
const isFound = "release: thrown flow_payment_found possible";
const isNotFound = "release: thrown flow_payment_not_found possible";
const isUnseen = "release: thrown flow_payment_unseen possible";
const isThere = { found: "write paid", match: "write held possible-match" };
const signs = {
  "null funds": "write declined",
  funds: "sign",
  replayed: "sign",
  "replayed, older": "sign",
  done: "takeFunds",
};

const ended = (summary: string) => Object.fromEntries(Object.keys(events).map((name) => [name, summary]));

type Row = readonly [state: string, State, Partial<Record<EventName, string>>, facts?: Config["facts"]];

/** What follows each event. Every other event is unexpected. */
const table: readonly Row[] = [
  ["run reads", reading(calls.run), runReads],
  [
    "run of another request reads",
    reading({ kind: "run", request: { ...request, memo: "other" } }),
    { ...refuses("flow_key_reused"), nothing: "createIntent" },
  ],
  [
    "quote reads",
    reading(calls.quote),
    { ...refuses("flow_confirmed"), nothing: "createIntent", quoted: "done: quoted", "expired quote": "createIntent" },
  ],
  [
    "confirm reads",
    reading(calls.confirm),
    {
      nothing: "done: thrown flow_unknown none",
      quoted: "replaceQuote funds-requested in time",
      "expired quote": "done: thrown quote_expired none",
      open: "acquire",
      rejected: "done: thrown quote_changed none",
      ...outcomes,
    },
  ],
  [
    "cancel reads",
    reading(calls.cancel),
    {
      ...refuses("flow_confirmed"),
      nothing: "done: thrown flow_unknown none",
      quoted: "replaceQuote declined",
      "expired quote": "replaceQuote declined",
      declined: "done: declined",
    },
  ],
  [
    "an operator reads",
    reading(resolve({})),
    {
      ...refuses("flow_not_held"),
      nothing: "done: thrown flow_unknown none",
      open: "done: thrown flow_not_held possible",
      held: "acquire",
      paid: "done: thrown flow_not_held possible",
    },
  ],
  [
    "a new search reads",
    reading(calls.recheck),
    {
      nothing: "done: thrown flow_unknown none",
      quoted: "done: nothing",
      "expired quote": "done: nothing",
      open: "done: nothing",
      held: "search",
      paid: "done: nothing",
      declined: "done: nothing",
      rejected: "done: nothing",
      pruned,
    },
  ],
  [
    "run asks for an intent",
    { at: "asking", call: calls.run, isRenewal: false },
    { intent: "begin funds-requested", "intent refused": "begin rejected", failed: "read" },
  ],
  [
    "quote asks for an intent",
    { at: "asking", call: calls.quote, isRenewal: false },
    { intent: "begin quoted", "intent refused": "read", failed: "read" },
  ],
  [
    "quote asks for a new intent",
    { at: "asking", call: calls.quote, isRenewal: true },
    { intent: "replaceQuote quoted", "intent refused": "read", failed: "read" },
  ],
  [
    "an intent has failed",
    { at: "failing", call: calls.run, failure: { code: "x", effect: "none" } },
    {
      nothing: "done: thrown x none",
      quoted: "done: thrown x none",
      "expired quote": "done: thrown x none",
      declined: "done: thrown x none",
      rejected: "done: thrown x none",
    },
  ],
  [
    "run begins",
    { at: "creating", call: calls.run, to: requested },
    { ...runReads, owned: "takeFunds", "write refused": "read" },
  ],
  ["run acquires", acquiring(calls.run), { owned: "release: held", busy: "wait others" }],
  ["an operator acquires", acquiring(resolve({})), { owned: "search", busy: "done: thrown flow_busy possible" }],
  [
    "an operator who saw another revision acquires",
    acquiring(resolve({ revision: 6 })),
    { owned: "release: thrown flow_changed possible", busy: "done: thrown flow_busy possible" },
  ],
  [
    "a new search that found the payment acquires",
    { at: "acquiring", call: calls.recheck, found: payment },
    { owned: "write paid", busy: "done: nothing" },
  ],
  ["a new search", { at: "rechecking", call: calls.recheck }, { found: "acquire" }],
  ...(["decide", "propose"] as const).map(
    (step): Row => [
      `an operator who gives another payment's record acquires, to ${step}`,
      acquiring(resolve({ step, decision: { ...decision, action: "found", payment } })),
      { owned: isNotFound, busy: "done: thrown flow_busy possible" },
    ],
  ),
  ["run waits for another owner", { at: "waiting", call: calls.run }, { done: "read" }],
  ["the money is asked for", owning(requested), signs],
  [
    "the money is asked for again",
    owning(again),
    {
      "null funds": "write held money-gone",
      funds: "write claimed, 2 open",
      replayed: "search",
      "replayed, older": "search",
      done: "takeFunds",
    },
  ],
  [
    "the money is asked for again, after a search",
    owning(again, { searched: true }),
    {
      "null funds": "write held money-gone",
      funds: "write claimed, 2 open",
      replayed: "write claimed, 2 open",
      "replayed, older": "write claimed, 2 open",
      done: "takeFunds",
    },
  ],
  [
    "new money is signed for",
    owning(requested, { funds: { senderGatewayTransactionId: "t", replayed: false } }),
    { ...signs, signed: "write claimed, 1 open" },
  ],
  ...(
    [
      ["money of this entry", {}, "write claimed, 1 open"],
      ["money of an earlier entry", { began: true }, "write held entry-lost"],
      ["older money", { funds: { ...sought.funds, takenAtMs: 4_899 } }, "write held entry-lost"],
      ["remembered as lost", { flow: { ...requested, wasLost: true } }, "write held entry-lost"],
      [
        "unreadable again",
        { flow: { ...requested, tries: { ...tries, unread: 1 } } },
        "write claimed, 1 open",
        "write held unreadable",
      ],
    ] as const
  ).map(
    ([title, more, absent, unreadable = "write funds-requested, waits"]): Row => [
      `the first search, ${title}`,
      owning(requested, { ...sought, ...more }),
      { ...signs, signed: "search", ...isThere, absent, forbidden: absent, unreadable },
    ],
  ),
  ["a claim is sent", owning(claimed), responses],
  [
    "a claim is sent again",
    owning(claimedAgain, { refusal }),
    {
      ...responses,
      "401": "write held unauthorized",
      ...isThere,
      absent: "write held refused-after-repeat",
      unreadable: "write held refused-after-repeat",
      forbidden: "write held refused-after-repeat",
    },
  ],
  [
    "a claim was refused",
    owning(claimed, { refusal }),
    {
      ...responses,
      ...isThere,
      absent: "write refused",
      unreadable: "write refused",
      forbidden: "write refused",
    },
  ],
  [
    "unknown",
    owning(unknown),
    {
      ...isThere,
      absent: "wait readBack",
      unreadable: "wait readBack",
      forbidden: "write held not-found",
      done: "search",
    },
  ],
  ...(
    [
      ["the last search", { readBacks: 1 }, {}, notFound, notFound, notFound],
      ["listedWithinMs", { readBacks: 1 }, { listedWithinMs: 1 }, "wait listed", "wait listed", notFound],
      ["listedWithinMs, proof", proof, { listedWithinMs: 1 }, "write funds-requested", notFound, notFound],
      [
        "singleUseIntents",
        { readBacks: 1 },
        { singleUseIntents: true },
        "write funds-requested",
        "write funds-requested",
        "write funds-requested",
      ],
    ] as const
  ).map(
    ([title, more, facts, absent, unreadable, forbidden]): Row => [
      `unknown, ${title}`,
      owning(unknown, more),
      { ...isThere, absent, unreadable, forbidden, done: "search" },
      facts,
    ],
  ),
  [
    "unknown, proof after the last repetition",
    owning({ ...unknown, tries: { ...tries, open: 1, repeated: 1 } }, proof),
    { ...isThere, absent: notFound, unreadable: notFound, forbidden: notFound, done: "search" },
    { listedWithinMs: 1, singleUseIntents: true },
  ],
  [
    "the first search, sent twice before",
    owning({ ...again, tries: { ...tries, open: 2 } }, sought),
    {
      ...signs,
      "null funds": "write held money-gone",
      funds: "write claimed, 3 open",
      replayed: "search",
      "replayed, older": "search",
      signed: "search",
      ...isThere,
      absent: "write claimed, 3 open",
      unreadable: "write funds-requested, waits",
      forbidden: "write claimed, 3 open",
    },
  ],
  ["the money is given back", owning(refused), { done: "write rejected" }],
  ["an outcome is given back", { at: "leaving", call: calls.run, result: { outcome: held } }, ended("done: held")],
  ["a call has ended", { at: "done", call: calls.run, result: { nothing: true } }, ended("done: nothing")],
  ...(
    [
      ["found", { action: "found" }, "write paid", isNotFound, isNotFound],
      ["found, with its record", { action: "found", payment }, "write paid", "write paid", "write paid"],
      ["release", { action: "release" }, isFound, "write refused", isUnseen],
      ["release without proof", { action: "release", withoutProof: true }, isFound, "write refused", "write refused"],
      ["resend", { action: "resend" }, isFound, "write funds-requested", isUnseen],
      [
        "resend without proof",
        { action: "resend", withoutProof: true },
        isFound,
        "write funds-requested",
        "write funds-requested",
      ],
    ] as const
  ).map(
    ([title, more, found, absent, unseen]): Row => [
      `decided: ${title}`,
      owning(held, { call: resolve({}), decision: { ...decision, ...more } }),
      { found, absent, match: unseen, unreadable: unseen, forbidden: unseen },
    ],
  ),
  ["a claim is stored", writing(claimed), { stored: "send", "write refused": "read" }],
  ["an outcome is stored", writing(paid), { stored: "done: paid", "write refused": "read" }],
  [
    "a decision is stored",
    writing(refused, resolve({})),
    { stored: "releaseFunds", "write refused": "done: paused flow_changed" },
  ],
  [
    "work stores",
    writing({ ...requested, notBeforeMs: 1 }, calls.recover),
    { stored: "wait notBefore", "write refused": "done: nothing" },
  ],
];

/** What a state that doesn't own the flow makes of an unexpected event. */
function unexpected(state: State, event: EventBody): string {
  const code = event.is === "failed" ? "gone" : "flow_unexpected_event";
  if (state.at === "rechecking") return "done: nothing";
  if (state.at === "failing") return "done: paused x";
  if (state.at === "asking") return "read";
  return state.at === "owning" || state.at === "writing" ? `release: paused ${code}` : `done: paused ${code}`;
}

function summary({ state, command }: Step): string {
  if (state.at === "done") return `done: ${resultOf(state.result)}`;
  if (state.at === "leaving") return `release: ${resultOf(state.result)}`;
  switch (command?.do) {
    case "write":
    case "begin":
      return `${command.do} ${flowOf(command.flow)}`;
    case "replaceQuote":
      return `replaceQuote ${command.flow.phase}${command.inTime ? " in time" : ""}`;
    case "wait":
      return `wait ${command.until}`;
    default:
      return command?.do ?? "nothing";
  }
}

function flowOf(flow: Flow): string {
  switch (flow.phase) {
    case "held":
      return `held ${flow.why}`;
    case "claimed":
      return `claimed, ${flow.tries.open} open`;
    case "paid":
      return "paid";
    case "funds-requested":
      return flow.notBeforeMs === undefined ? flow.phase : "funds-requested, waits";
    default:
      return flow.phase;
  }
}

function resultOf(result: Result): string {
  if ("outcome" in result) return result.outcome.phase;
  if ("paused" in result) return `paused ${result.paused.code}`;
  if ("thrown" in result) return `thrown ${result.thrown.code} ${result.thrown.effect}`;
  return "quoted" in result ? "quoted" : "nothing";
}

const names = Object.keys(events) as EventName[];
const step = (state: State, name: EventName, facts: Config["facts"] = {}) =>
  next(state, { ...events[name], nowMs } as Event, { ...config, facts });

const resumable = [
  [requested, "takeFunds"],
  [{ ...requested, notBeforeMs: 1 }, "wait notBefore"],
  [claimed, "write unknown"],
  [unknown, "search"],
  [refused, "releaseFunds"],
  [held, "release: held"],
] as const;

const fixtures = new Map<unknown, string>(
  Object.entries({ request, intent, payment, signed, refusal, said, decision, tries, ...calls }).map(([name, one]) => [
    one,
    name,
  ]),
);

/** A step as JSON: fixtures by their names, counts without zeros, and what is there twice once. */
function recorded(step: Step): string {
  const seen = new Set();
  return JSON.stringify(step, (name, value) => {
    if (fixtures.has(value)) return fixtures.get(value);
    if (name === "tries") return Object.fromEntries(Object.entries(value).filter(([, count]) => count !== 0));
    if (typeof value === "object" && seen.has(value)) return "same";
    seen.add(value);
    return value;
  });
}

describe("next", () => {
  it("makes the recorded steps: a change of the protocol shows in them", async () => {
    const lines = table.map(([title, state, , facts]) => {
      const after = new Map<string, EventName[]>();
      for (const name of names) {
        const made = recorded(step(state, name, facts));
        after.set(made, [...(after.get(made) ?? []), name]);
      }
      return [`# ${title}`, ...[...after].map(([made, events]) => `${events.join(", ")} → ${made}`), ""].join("\n");
    });
    const resumed = [quoted, ...resumable.map(([flow]) => flow), paid, declined, rejected];
    const resumes = resumed.map((flow) => `${flow.phase} → ${recorded(resume(entry(flow)))}`);
    await expect([...lines, "# taken over", ...resumes, ""].join("\n")).toMatchFileSnapshot("recorded-steps.txt");
  });

  it.each(
    table.flatMap(([title, state, row, facts = {}]) =>
      names.map((name) => [title, name, row[name] ?? unexpected(state, events[name]), state, facts] as const),
    ),
  )("%s + %s → %s", (_title, name, expected, state, facts) => {
    expect(summary(step(state, name, facts))).toBe(expected);
  });

  it.each(resumable)("continues a flow that was taken over: %#", (flow, expected) => {
    expect(summary(resume(entry(flow)))).toBe(expected);
  });

  it.each([
    [0, undefined, 11_000],
    [0, 12_345, 12_345],
    [2, undefined, 18_000],
    [7, undefined, 610_000],
    [20, undefined, 610_000],
  ])("waits longer with each 429: %i, retry at %s", (throttled, retryAtMs, notBeforeMs) => {
    const state = owning({ ...claimed, tries: { ...claimed.tries, throttled } });
    const throttle = { is: "throttled", said, ...(retryAtMs !== undefined && { retryAtMs }) } as const;
    const { command } = next(state, { is: "response", response: throttle, nowMs }, config);
    expect(command).toMatchObject({ flow: { notBeforeMs, said, tries: { open: 0, throttled: throttled + 1 } } });
  });

  const resolutions = [
    ["propose", { decision }, held, "write held not-found", proposed],
    ["approve", { by: "bob" }, proposed, "search", undefined],
    ["approve", { by: "ann" }, proposed, "release: thrown flow_same_person possible", undefined],
    ["approve", { by: "bob" }, held, "release: thrown flow_not_proposed possible", undefined],
    ["refuse", { by: "bob" }, proposed, "write held not-found", held],
    ["refuse", { by: "ann" }, proposed, "write held not-found", held],
    ["refuse", { by: "bob" }, held, "release: thrown flow_not_proposed possible", undefined],
  ] as const;
  it.each(resolutions)("%s by %j", (step, more, flow, expected, stored) => {
    const call = resolve({ step, revision: 7, ...more });
    const after = next(acquiring(call), { is: "owned", entry: entry(flow), nowMs }, config);
    expect(summary(after)).toBe(expected);
    if (stored !== undefined) expect(after.command).toEqual({ do: "write", flow: stored });
  });

  it("carries out the stored proposal, with its payment, and begins a new count after a resend", () => {
    const proposal: Decision = { ...decision, action: "resend", withoutProof: true };
    const flow: Held = { ...held, proposal, tries: { ...held.tries, unauthorized: 8, unread: 3 } };
    const call = resolve({ step: "approve", by: "bob", revision: 7, decision: undefined });
    const searching = next(acquiring(call), { is: "owned", entry: entry(flow), nowMs }, config);
    const { command } = next(searching.state, { ...events.match, nowMs }, config);
    expect(command).toMatchObject({
      flow: {
        phase: "funds-requested",
        tries: { open: 1, unauthorized: 0, unread: 0 },
        decisions: [{ ...proposal, approvedBy: "bob" }],
      },
    });
  });
});

it("has no clock, no chance, and no imports but types and money", () => {
  const folder = new URL("../../../src/flows/core/", import.meta.url);
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));
  const text = sources.join("\n");
  expect(text).not.toMatch(/\b(?:Date|random|crypto|performance|setTimeout|await|async|Promise)\b/);
  const imports = [...text.matchAll(/import (type )?[^;]*? from "([^"]+)"/g)];
  const outer = imports
    .filter(([, type, path]) => type === undefined && !path?.startsWith("./"))
    .map(([, , path]) => path);
  expect(outer).toEqual(["../../money.js"]);
});
