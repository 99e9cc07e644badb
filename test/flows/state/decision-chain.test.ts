import { createHash } from "node:crypto";
import type { Payment } from "cross-border-payments";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decisionHash,
  decisionsOf,
  endedProposals,
  isSamePerson,
  proposedPayment,
  seenHash,
  verifyDecisions,
  withDecision,
} from "../../../src/flows/state/decision-chain.js";
import type { FlowState, Look, OperatorDecision } from "../../../src/flows/state/flow-state.js";

const decision = (by: string): OperatorDecision => ({ action: "release", by, why: "ticket", atMs: 1 });
const chain = (...names: readonly string[]) =>
  names.reduce<readonly OperatorDecision[]>((before, by) => withDecision("k", before, decision(by)), []);

describe("the chain of decisions", () => {
  it("is whole as it was made, in whatever order a database keeps its fields", () => {
    const decisions = chain("a", "b", "c");
    const turned = decisions.map((one) => Object.fromEntries(Object.entries(one).reverse()));
    for (const given of [decisions, turned, JSON.parse(JSON.stringify(decisions))]) {
      expect(verifyDecisions({ key: "k", decisions: given as never })).toMatchObject({ isIntact: true, unchained: 0 });
    }
    expect(verifyDecisions({ key: "k" })).toStrictEqual({ isIntact: true, unchained: 0, hashes: [] });
  });

  it("goes by the SHA-256 of the fields in the order of their names, as those do that are stored already", () => {
    const text = '[["action","release"],["atMs",1],["by","a"],["why","ticket"]]';
    expect(decisionHash(decision("a"))).toBe(createHash("sha256").update(text).digest("hex"));
  });

  it("covers what a proposer saw, in whatever order a database keeps its fields", () => {
    const hashOf = (saw: OperatorDecision["saw"]) => decisionHash({ ...proposal, ...(saw && { saw }) });
    const { revision, looks, hash } = proposal.saw;
    expect(hashOf({ hash, looks, revision })).toBe(hashOf(proposal.saw));
    const others = [
      { revision: 4, looks, hash },
      { revision, looks: 3, hash },
      { revision, looks, hash: "b" },
    ];
    for (const other of others) expect(hashOf(other)).not.toBe(hashOf(proposal.saw));
  });

  it("counts a given record by its content, however deep, and in whatever order a database keeps its fields", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`);
    const given = (payment: object) => withDecision("k", [], { ...decision("a"), payment: payment as Payment });
    const [one] = given({ id: "p", extras: { b: [1, { d: 2, c: deep }], a: undefined } });
    const [same] = given({ extras: { b: [1, { c: deep, d: 2 }] }, id: "p" });
    const [other] = given({ extras: { b: [{ c: deep, d: 2 }, 1] }, id: "p" });
    if (one === undefined || same === undefined || other === undefined) throw new Error("there is none");
    expect(decisionHash(same)).toBe(decisionHash(one));
    expect(decisionHash(other)).not.toBe(decisionHash(one));
  });

  it("shows every change of a field, every decision that was left out or moved, and one of another flow", () => {
    const decisions = chain("a", "b", "c", "d");
    fc.assert(
      fc.property(fc.nat(2), fc.constantFrom("action", "by", "why", "atMs", "step"), (index, name) => {
        const changed = decisions.map((one, at) => (at === index ? { ...one, [name]: "other" } : one));
        return !verifyDecisions({ key: "k", decisions: changed as never }).isIntact;
      }),
    );
    for (let left = 0; left < 3; left += 1) {
      expect(verifyDecisions({ key: "k", decisions: decisions.filter((_, at) => at !== left) }).isIntact).toBe(false);
    }
    expect(verifyDecisions({ key: "k", decisions: decisions.toReversed() }).isIntact).toBe(false);
    expect(verifyDecisions({ key: "other", decisions })).toMatchObject({
      isIntact: false,
      problem: "decision 1 does not carry the hash of what stood before it",
    });
  });

  it("shows by its hashes that its end is gone, which the rest can't", () => {
    const decisions = chain("a", "b", "c");
    const { hashes } = verifyDecisions({ key: "k", decisions });
    const cut = verifyDecisions({ key: "k", decisions: decisions.slice(0, 2) });
    expect([cut.isIntact, cut.hashes]).toEqual([true, hashes.slice(0, 2)]);
  });

  it("covers decisions of release 0.2.0 from the next one on", () => {
    const decisions = withDecision("k", [decision("old"), decision("older")], decision("new"));
    expect(verifyDecisions({ key: "k", decisions })).toMatchObject({ isIntact: true, unchained: 2 });
    const changed = [decision("old"), decision("changed"), ...decisions.slice(2)];
    expect(verifyDecisions({ key: "k", decisions: changed }).isIntact).toBe(false);
    expect(verifyDecisions({ key: "k", decisions: [...decisions, decision("put in")] }).isIntact).toBe(false);
  });
});

const proposal = { ...decision("Olga Operator"), step: "proposed", saw: { revision: 3, looks: 2, hash: "a" } } as const;
const approval = { ...decision("Petra"), step: "approved", atMs: 2 } as const;
const refusal = { ...approval, step: "refused" } as const;

/** A chain that somebody wrote anew, with every hash as it should be. */
function forged(...decisions: readonly object[]): readonly OperatorDecision[] {
  const made: OperatorDecision[] = [];
  for (const decision of decisions) {
    const previous = withDecision("k", made, approval).at(-1)?.previous;
    made.push({ ...decision, previous } as OperatorDecision);
  }
  return made;
}

describe("a chain that was written anew", () => {
  const later = { ...proposal, atMs: 2 };
  const outdated = { ...later, saw: { ...proposal.saw, hash: "b" } };
  it.each([
    [[proposal, approval]],
    [[proposal, refusal, later, approval]],
    [[proposal, { ...refusal, by: proposal.by }, outdated, later, approval]],
    [[proposal, { ...approval, why: "other grounds", atMs: 1 }, outdated]],
    [
      [
        { ...proposal, withoutProof: true },
        { ...approval, withoutProof: true },
      ],
    ],
  ])("has nothing against what two people can decide: %#", (decisions) => {
    for (const people of [1, 2] as const) {
      const report = verifyDecisions({ key: "k", decisions: forged(...decisions) }, { people });
      expect(report).toMatchObject({ isIntact: true });
    }
  });

  it.each([
    [[approval], "1 is approved, and follows no proposal"],
    [[proposal, refusal, approval], "3 is approved, and follows no proposal"],
    [[proposal, approval, approval], "3 is approved, and follows no proposal"],
    [[approval, proposal], "1 is approved, and follows no proposal"],
    [[refusal], "1 is refused, and follows no proposal"],
    [[proposal, decision("Petra"), approval], "3 is approved, and follows no proposal"],
    [[proposal, { ...approval, by: proposal.by }], '2 was approved by who proposed it, "Olga Operator"'],
    [[proposal, { ...approval, by: " olga\u200b  OPERATOR" }], "2 was approved by who proposed it"],
    [[proposal, { ...approval, action: "resend" }], "2 is another than was proposed: resend in place of release"],
    [[proposal, { ...refusal, action: "found" }], "2 is another than was proposed: found in place of release"],
    [[proposal, { ...approval, withoutProof: true }], "2 was approved with proof, and proposed without"],
    [[{ ...proposal, withoutProof: true }, approval], "2 was approved with proof, and proposed without"],
    [[{ ...proposal, atMs: 3 }, approval], "2 is of an earlier time than the one before it"],
    [[proposal, { ...approval, atMs: undefined }], "2 is not what a flow stores"],
    [[proposal, { ...proposal, by: "Quentin" }], "2 was proposed while another proposal waited"],
    [[{ ...proposal, saw: undefined }, approval], "1 does not say what its proposer saw"],
    [[{ ...proposal, saw: undefined }, proposal], "1 does not say what its proposer saw"],
    [[{ ...proposal, payment: 5 }], "1 is not what a flow stores"],
    [[proposal, { ...approval, step: "aproved" }], "2 is neither a proposal nor an approval nor a refusal"],
  ] as const)("shows %j", (decisions, problem) => {
    const report = verifyDecisions({ key: "k", decisions: forged(...decisions) });
    expect(report).toMatchObject({ isIntact: false, problem: expect.stringContaining(`decision ${problem}`) });
  });

  it("shows one who decided alone where it takes two, and not where it takes one", () => {
    const decisions = forged(proposal, approval, { ...decision("Olga"), atMs: 2 });
    expect(verifyDecisions({ key: "k", decisions })).toMatchObject({ isIntact: true });
    expect(verifyDecisions({ key: "k", decisions }, { people: 2 })).toMatchObject({
      problem: 'decision 3 was made by "Olga" alone',
    });
    const old = [decision("Olga"), ...decisions];
    expect(verifyDecisions({ key: "k", decisions: old }, { people: 2 })).toMatchObject({ isIntact: false });
  });

  it("shows another record than was approved, whether that is kept or only its hash", () => {
    const payment = { id: "p-9", extras: { a: 1, b: 2 } };
    const found = { ...proposal, action: "found", payment } as const;
    const approved = { ...approval, action: "found" } as const;
    const [kept] = withDecision("k", withDecision("k", [], found as never), approved);
    expect(kept?.payment).toMatch(/^[0-9a-f]{64}$/);
    for (const given of [found, { ...found, payment: kept?.payment }]) {
      const decisions = forged(given, approved);
      const settledWith = (settled: unknown) =>
        verifyDecisions({ key: "k", decisions, payment: settled }, { people: 2 });
      expect(settledWith({ extras: { b: 2, a: 1 }, id: "p-9" })).toMatchObject({ isIntact: true });
      expect(settledWith({ ...payment, id: "p-8" })).toMatchObject({
        problem: "the flow was settled with another record than was proposed",
      });
      for (const nothing of [undefined, null]) expect(settledWith(nothing)).toMatchObject({ isIntact: true });
    }
    const { payment: _, ...unrecorded } = found;
    for (const decisions of [forged(found, { ...refusal, action: "found" }), forged(unrecorded, approved), []]) {
      const report = verifyDecisions({ key: "k", decisions, payment: { ...payment, id: "p-8" } });
      expect(report).toMatchObject({ isIntact: true });
    }
  });

  it("can hide who it was, and that there was more: only hashes that were kept elsewhere show it", () => {
    const whole = verifyDecisions({ key: "k", decisions: forged(proposal, approval) });
    const other = verifyDecisions(
      { key: "k", decisions: forged(proposal, { ...approval, by: "Nobody" }) },
      { people: 2 },
    );
    expect([other.isIntact, other.hashes[1] === whole.hashes[1]]).toEqual([true, false]);
  });

  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`);
  it.each([
    ...[
      "x",
      {},
      [null],
      [5],
      [proposal, { ...approval, by: 5 }],
      [{ ...proposal, why: deep }],
      [{ ...proposal, payment: null }],
    ],
    ...[
      [{ ...proposal, payment: 5 }],
      [{ ...proposal, saw: null }],
      [{ ...proposal, previous: deep }],
      [{ ...proposal, more: deep }],
    ],
  ])("shows what is no decision at all: %#", (decisions) => {
    expect(verifyDecisions({ key: "k", decisions: decisions as never })).toMatchObject({
      isIntact: false,
      problem: expect.stringMatching(/^decision [12] /),
    });
  });

  it("has no hashes where it is no list of decisions", () => {
    const report = verifyDecisions({ key: "k", decisions: "x" as never });
    expect(report).toMatchObject({ hashes: [], unchained: 0, problem: "decision 1 is not what a flow stores" });
  });

  it.each([
    [{ people: 3 }, /^verifyDecisions: .*people must be 1 or 2/],
    [{ person: 2 }, /^verifyDecisions: /],
    [null, /^verifyDecisions: the options of verifyDecisions must be an object/],
  ])("refuses the options %j", (options, message) => {
    expect(() => verifyDecisions({ key: "k" }, options as never)).toThrow(message);
  });
});

it("dates no decision before the one that it follows, whatever clock its process has", () => {
  const decisions = withDecision("k", withDecision("k", [], { ...proposal, atMs: 50 }), approval);
  expect(decisions.map(({ atMs }) => atMs)).toEqual([50, 50]);
  expect(verifyDecisions({ key: "k", decisions })).toMatchObject({ isIntact: true });
});

it.each([
  ["Olga", "OLGA ", true],
  ["Jörg Groß", "jörg GROSS", true],
  ["Olga", "Olaf", false],
  ["Olga Operator", "Olga  Operator", true],
  ["Olga Operator", "Olga\tOperator\u2800", true],
  ["Groß", "GROẞ", true],
  // Marks that nobody sees: a variation selector, a joiner of graphemes (also within a letter), a filler, a control character.
  ["Olga", "Olga\ufe0f", true],
  ["Olga", "Ol\u034fga", true],
  ["Jörg", "Jo\u034f\u0308rg", true],
  ["Olga", "Olga\u3164", true],
  ["Olga", "Olga\u0000", true],
  ["Olga", "Olgä", false],
  ["Olga Operator", "OlgaOperator", false],
])("tells whether %j and %j are one person", (one, other, isSame) => {
  expect(isSamePerson(one, other)).toBe(isSame);
});

describe("a proposal", () => {
  it("has ended unless the next decision approves it", () => {
    const [first, second, third] = [proposal, { ...proposal, atMs: 2 }, { ...proposal, atMs: 3 }];
    expect(endedProposals([first, refusal, second, approval, third])).toEqual([first, third]);
    expect(endedProposals([decision("Olga"), second, third])).toEqual([second, third]);
  });

  it("has the record that was given with it, until only its hash is kept", () => {
    const payment = { id: "p" } as Payment;
    expect(proposedPayment({ ...proposal, payment })).toBe(payment);
    expect(proposedPayment({ ...proposal, payment: "a hash" as never })).toBeUndefined();
    expect(proposedPayment(proposal)).toBeUndefined();
  });
});

describe("the hash of what there is to see of a flow", () => {
  const look: Look = { atMs: 1, claims: 1, seen: 3, complete: false, problem: "it was cut short" };
  const aged = (ageSeconds: number) => ({ mark: "met", end: "end", ageSeconds }) as const;
  const flow = { phase: "held", looks: [look], decisions: [decision("Olga")] };
  const hashOf = (more: object) => seenHash({ ...flow, ...more } as unknown as FlowState);
  const hashOfLook = (more: Partial<Look>) => hashOf({ looks: [{ ...look, ...more }] });

  it.each<[string, object]>([
    ["fails again", { failures: { count: 3 } }],
    ["is stored as it goes on", { history: [1], waits: { ms: 1, looks: 1 }, askedWait: {}, progressEpoch: 7 }],
    ["is proposed for a decision, which is refused", { decisions: [...flow.decisions, proposal, refusal] }],
    ["is looked for again, and cannot be ruled out again", { looks: [{ ...look, atMs: 2, seen: 4, grounds: {} }] }],
  ])("stays the same where it %s", (_, more) => {
    expect(hashOf(more)).toBe(hashOf({}));
  });

  it.each<[string, object]>([
    ["is in another phase", { phase: "unknown" }],
    ["was decided about by one", { decisions: [...flow.decisions, decision("Petra")] }],
    ["was decided about by two", { decisions: [...flow.decisions, approval] }],
    ["was looked for by another claim", { looks: [{ ...look, claims: 2 }] }],
    ["was not ruled out for another reason", { looks: [{ ...look, problem: "it does not go on" }] }],
    ["was not ruled out for a reason that nobody said", { looks: [{ ...look, problem: undefined }] }],
    ["was looked for in a cache", { looks: [{ ...look, grounds: aged(7) }] }],
    ["was looked for twice", { looks: [look, look] }],
    ["was never looked for", { looks: undefined }],
  ])("is another where it %s", (_, more) => {
    expect(hashOf(more)).not.toBe(hashOf({}));
  });

  it("does not go by how old a cache was, and tells a cache from no reason", () => {
    const cached = hashOfLook({ grounds: aged(7), problem: "7 s old" });
    expect(hashOfLook({ grounds: aged(8), problem: "8 s old" })).toBe(cached);
    expect(hashOfLook({ problem: "" })).not.toBe(cached);
  });

  it.each<[string, Partial<Look>]>([
    ["that ruled the payment out", { complete: true }],
    ["that saw one alike", { lookalike: { id: "p" } as Payment }],
  ])("goes by each look %s", (_, more) => {
    expect(hashOfLook({ ...more, atMs: 2 })).not.toBe(hashOfLook(more));
  });

  it("is there for a flow about which nothing was decided yet", () => {
    const quoted = { phase: "quoted" } as unknown as FlowState;
    expect(decisionsOf(quoted)).toEqual([]);
    expect(seenHash(quoted)).toMatch(/^[0-9a-f]{64}$/);
  });
});
