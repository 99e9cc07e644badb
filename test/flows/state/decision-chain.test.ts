import type { Payment } from "cross-border-payments";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decisionHash, isSamePerson, verifyDecisions, withDecision } from "../../../src/flows/state/decision-chain.js";
import type { OperatorDecision } from "../../../src/flows/state/flow-state.js";

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
    expect(verifyDecisions({ key: "k" })).toEqual({ isIntact: true, unchained: 0, hashes: [] });
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
])("tells whether %j and %j are one person", (one, other, isSame) => {
  expect(isSamePerson(one, other)).toBe(isSame);
});
