import { expect, it } from "vitest";
import { describeEnumeration, enumerate, type SmallWorld, smallWorlds, wholeOf } from "./small-worlds.js";

const calm: SmallWorld = { about: "nothing fails", profile: {}, leases: 1 };

it("runs one schedule where nothing may go wrong, and every one with one fault", async () => {
  expect(await enumerate(calm, 0)).toMatchObject({ schedules: 1, broken: undefined });
  const bank: SmallWorld = { about: "the bank fails", profile: { bankFailsBefore: 1 }, leases: 1 };
  const { schedules, marks } = await enumerate(bank, 1);
  expect(schedules).toBeGreaterThan(1);
  expect(marks["funds-requested: takeFunds fails: fails"]).toBe(1);
});

it("reaches with two faults what one does not", async () => {
  const bank: SmallWorld = { about: "the bank fails", profile: { bankFailsBefore: 1, bankFailsAfter: 1 }, leases: 1 };
  const [one, two] = [await enumerate(bank, 1), await enumerate(bank, 2)];
  expect(two.schedules).toBeGreaterThan(one.schedules);
  expect(Object.keys(two.marks).length).toBeGreaterThan(Object.keys(one.marks).length);
});

it("runs each schedule in one part, and no other", async () => {
  const bank: SmallWorld = { about: "the bank fails", profile: { bankFailsBefore: 1, bankFailsAfter: 1 }, leases: 1 };
  const whole = await enumerate(bank, 2);
  const parts = [];
  for (const at of [0, 1, 2]) parts.push(await enumerate(bank, 2, { at, of: 3 }));
  expect(wholeOf(parts)).toEqual({ ...whole, seconds: expect.any(Number) });
});

it("shows the schedule that breaks a law", async () => {
  // The service makes two payments of one intent, and the flow is told that it makes one.
  const told: SmallWorld = {
    about: "a false promise",
    profile: { tellsSingleUse: true, isSingleUse: false, lateRequests: 1, lostResponses: 1 },
    leases: 3,
  };
  const result = await enumerate(told, 1);
  expect(result.broken?.trace.at(-1)).toContain("paid twice");
  expect(describeEnumeration(told, 1, result)).toContain("A schedule of at most one fault breaks a law");
});

it("says what was run, and what it is bound to", async () => {
  const result = { schedules: 12, points: 3, marks: {}, broken: undefined, seconds: 1.2 };
  expect(describeEnumeration(smallWorlds.payment, 2, result)).toBe(
    "No schedule of at most 2 faults, with one key and two processes (one caller, and every kind of fault), breaks a law: 12 schedules, 1 s. Without a fault it has 3 places where one can be.",
  );
});
