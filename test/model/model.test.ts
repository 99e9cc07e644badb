import { describe, expect, it } from "vitest";
import { explore } from "./explore.js";
import { brokenLaw, type Facts, isSettled, laws, told } from "./laws.js";
import { Model } from "./model.js";
import { editedFiles } from "./mutated-core.js";
import { mutations } from "./mutations.js";
import { outside, type WorldName, worlds } from "./worlds.js";

/** Some 20 s of CPU. `npm run model` explores further. */
const maxStates = 60_000;
const names = Object.keys(worlds) as WorldName[];
const twoFaults: WorldName[] = ["run", "quote", "listed", "single", "ordinary", "restored", "lost"];

describe("the flow's core", () => {
  it.each([...names.map((name) => [name, 1] as const), ...twoFaults.map((name) => [name, 2] as const)])(
    "breaks no law in world %s with %i faults",
    (name, faults) => {
      const { broken, trace, states, isWhole } = explore(new Model({ ...worlds[name], faults }), maxStates);
      expect([broken, trace]).toEqual([undefined, []]);
      expect(isWhole || states >= maxStates).toBe(true);
    },
  );

  it.each(Object.entries(outside))("can't hold the laws if %s", (_title, world) => {
    const reports = [0, 1, 2].map((faults) => explore(new Model({ ...world, faults }), maxStates));
    expect(reports.some(({ broken }) => broken !== undefined)).toBe(true);
  });
});

describe("laws", () => {
  const facts: Facts = {
    payments: 1,
    bank: "taken",
    phase: "paid",
    told: told.paid,
    resends: 0,
    releases: 0,
    isBlind: false,
    isStale: false,
    isRestored: false,
    isOrdinary: false,
  };
  const breaches: readonly [law: string, change: Partial<Facts>][] = [
    ["1 paid twice", { payments: 2 }],
    ["2 given back, and paid", { bank: "released" }],
    ["2 paid without the money", { bank: "declined" }],
    ["3 money taken, and no flow has it", { payments: 0, phase: "rejected", told: 0 }],
    ["4 stored as paid, and nothing is paid", { payments: 0 }],
    ["4 told paid, and nothing is paid", { payments: 0, phase: "held" }],
    ["4 told paid, and stored otherwise", { phase: "held" }],
    ["4 told none, and money moved", { told: told.none }],
    ["4 told declined, and money moved", { told: told.declined }],
    ["4 told rejected, and paid or not given back", { told: told.rejected }],
    ["4 told that nothing was decided, and it was", { told: told.undecided }],
    ["4 decided with proof, beside a listed payment", { isBlind: true }],
    ["4 decided on something else than was seen", { isStale: true }],
    ["5 held on an ordinary day", { phase: "held", told: 0, isOrdinary: true }],
  ];

  it("hold for a payment that was made, told, and stored", () => {
    expect(brokenLaw(facts)).toBeUndefined();
    expect(breaches.map(([law]) => law)).toEqual(Object.keys(laws));
  });

  it.each(breaches)("%s", (law, change) => {
    expect(brokenLaw({ ...facts, ...change })).toBe(law);
  });

  it("settle each phase but those of an open flow", () => {
    const phases = [
      "none",
      "quoted",
      "funds-requested",
      "claimed",
      "unknown",
      "refused",
      "held",
      "paid",
      "pruned",
    ] as const;
    expect(phases.filter((phase) => !isSettled({ phase }))).toEqual([
      "funds-requested",
      "claimed",
      "unknown",
      "refused",
    ]);
  });
});

it.each(mutations)("the mutation of rule $rule fits the source", async (mutation) => {
  await expect(editedFiles(mutation)).resolves.toBeDefined();
});
