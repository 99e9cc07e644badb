import { describe, expect, it } from "vitest";
import { KnownPayments } from "../../../src/flows/looking/known-payments.js";
import { LookGoal, type LookRange } from "../../../src/flows/looking/look-goal.js";
import type { Ending } from "../../../src/payments/read-payments.js";
import type { Payment } from "../../../src/resources/payments.js";

const skewMs = 60_000;
const startMs = Date.UTC(2030, 0, 1);
const at = (seconds: number) => new Date(startMs + seconds * 1000).toISOString();
const payment = (id: string, createdAt: string, kind?: "own" | "lookalike" | "nameless") =>
  ({ id, createdAt, kind }) as never;

interface Looked {
  readonly range?: Partial<LookRange>;
  readonly known?: KnownPayments;
  readonly decides?: "decides" | "reports";
}

function goalOf({ range, known = new KnownPayments(0, skewMs), decides }: Looked = {}): LookGoal {
  const match = (seen: Payment) => (seen as { readonly kind?: "own" | "lookalike" | "nameless" }).kind;
  const whole = { mark: null, pastMarkMs: undefined, notBeforeMs: undefined, ...range };
  const goal = new LookGoal(match, whole, known, decides);
  goal.begin();
  return goal;
}

const over: Ending = { at: "end", problem: undefined, ageSeconds: 0 };
const enough: Ending = { ...over, at: "enough" };

describe("what a look finds", () => {
  const [own, alike, alikeToo] = [
    payment("own", at(1), "own"),
    payment("a", at(2), "lookalike"),
    payment("b", at(3), "lookalike"),
  ];

  it("is its payment, with which it is over, and the first lookalike before that", () => {
    const goal = goalOf();
    expect(goal.take([payment("other", at(4)), alike])).toBe(false);
    expect(goal.take([alikeToo, own, payment("older", at(0))])).toBe(true);
    expect(goal).toMatchObject({ seen: 4, found: own, lookalike: alike });
  });

  it("is its payment also among those that are listed beside what is read, which it does not count", () => {
    const goal = goalOf();
    expect(goal.notice([payment("other", at(4)), alike, alikeToo])).toBe(false);
    expect(goal.notice([own])).toBe(true);
    expect(goal).toMatchObject({ seen: 0, found: own, lookalike: alike });
    expect(goal.notice([])).toBe(true);
  });
});

describe("a look that begins anew", () => {
  it("counts nothing of what it has read before", () => {
    const range = { mark: { id: "mark" }, pastMarkMs: 0 };
    const goal = goalOf({ range });
    goal.take([payment("a", "soon"), payment("mark", at(1)), payment("b", at(0))]);
    goal.begin();
    expect([goal.seen, goal.isEnough()]).toEqual([0, false]);
    goal.end(over);
    expect(goal.grounds()).toEqual({ mark: "missed", end: "end" });
    goal.begin();
    goal.take([payment("mark", at(5)), payment("older", at(4))]);
    expect([goal.seen, goal.isEnough()]).toEqual([2, true]);
    expect(goal.grounds().pastMarkMs).toBe(1000);
  });

  it("knows what is to be listed by then", () => {
    const known = new KnownPayments(0, skewMs);
    const goal = goalOf({ known });
    known.note({ id: "new", createdAt: at(1) });
    goal.end(over);
    expect(goal.problem(false)).toBeUndefined();
    goal.begin();
    goal.end(over);
    expect(goal.problem(false)).toContain("not listed (new)");
  });

  it("notes the newest payment that it has seen, once it is over", () => {
    const known = new KnownPayments(0, skewMs);
    const goal = goalOf({ known });
    goal.take([payment("older", at(1))]);
    goal.begin();
    goal.take([payment("timeless", "soon"), payment("a", at(0)), payment("newest", at(2)), payment("same", at(2))]);
    expect(known.hasAny).toBe(false);
    goal.end(over);
    expect(known.toBeListed()).toMatchObject([{ id: "newest" }]);
    const nothing = new KnownPayments(0, skewMs);
    goalOf({ known: nothing }).end(over);
    expect(nothing.hasAny).toBe(false);
  });
});

describe("a look has read enough", () => {
  const mark = { id: "mark" };
  it.each<[string, boolean, Partial<LookRange>, readonly string[]]>([
    ["once it is further past its mark than clocks may differ", true, { mark, pastMarkMs: 5000 }, [at(10), at(4)]],
    ["not yet as far past its mark as that", false, { mark, pastMarkMs: 5000 }, [at(10), at(5)]],
    ["not by a mark that is no end", false, { mark, pastMarkMs: undefined }, [at(10), at(4)]],
    ["before the bank's time, once it has met its mark", true, { mark, notBeforeMs: startMs }, [at(10), at(-1)]],
    ["not at the bank's time", false, { mark, notBeforeMs: startMs }, [at(10), at(0)]],
    ["at whichever it comes to first", true, { mark, pastMarkMs: 60_000, notBeforeMs: startMs }, [at(10), at(-1)]],
    ["not where a payment's time can't be read", false, { mark, pastMarkMs: 5000 }, [at(10), "soon", at(-9000)]],
    [
      "an hour later where times have no zone",
      false,
      { mark, pastMarkMs: 0 },
      ["2030-01-01T10:00:00", "2030-01-01T09:00:00"],
    ],
    [
      "more than an hour later where times have no zone",
      true,
      { mark, pastMarkMs: 0 },
      ["2030-01-01T10:00:00", "2030-01-01T08:59:59"],
    ],
    [
      "not before the bank's time where times have no zone",
      false,
      { mark, notBeforeMs: startMs },
      ["2020-01-01T10:00:00"],
    ],
    ["where it has no mark, before the bank's time", true, { notBeforeMs: startMs }, [at(10), at(-1)]],
    ["never, where it has neither", false, {}, [at(10), at(-1)]],
  ])("%s: %s", (_, isEnough, range, times) => {
    for (const decides of ["decides", "reports"] as const) {
      const goal = goalOf({ range, decides });
      goal.take(times.map((createdAt, index) => payment(index === 0 ? "mark" : `p-${index}`, createdAt)));
      expect(goal.isEnough()).toBe(isEnough);
    }
  });

  it("never before it has met its mark, however far back it is", () => {
    const goal = goalOf({ range: { mark, pastMarkMs: 0, notBeforeMs: startMs } });
    goal.take([payment("other", at(-100))]);
    expect(goal.isEnough()).toBe(false);
  });

  it("by the first place in which it met its mark", () => {
    const goal = goalOf({ range: { mark: "7", pastMarkMs: 0 } });
    const marked = (createdAt: string) => ({ ...(payment("mark", createdAt) as object), pagingToken: "7" }) as never;
    goal.take([marked(at(10)), marked(at(9))]);
    expect(goal.isEnough()).toBe(true);
  });

  it("from when on it has to be sure only where something is decided", () => {
    const range = { mark, pastMarkMs: 2000 };
    const goal = goalOf({ range, decides: "decides" });
    goal.take([payment("mark", at(10))]);
    expect(goal.decidesFromMs?.()).toBe(startMs + 8000);
    expect(goalOf({ range }).decidesFromMs).toBeUndefined();
    expect(goalOf({ range, decides: "reports" }).decidesFromMs).toBeUndefined();
  });
});

describe("what a look rests on", () => {
  it.each<[LookRange["mark"], string]>([
    [null, "unknown"],
    [{ none: true }, "no payment"],
    ["7", "missed"],
    [{ id: "other" }, "missed"],
    [{ id: "p" }, "met"],
  ])("says of the mark %j: %s", (mark, ground) => {
    const goal = goalOf({ range: { mark } });
    goal.take([payment("p", at(1))]);
    goal.end(over);
    expect(goal.grounds()).toMatchObject({ mark: ground, end: "end" });
  });

  it("is unproved until it is over, and names neither a payment nor a cache that there was not", () => {
    expect(goalOf().grounds()).toEqual({ mark: "unknown", end: "unproved" });
    const goal = goalOf({ range: { mark: { id: "mark" } } });
    goal.take([payment("mark", at(1))]);
    goal.end({ ...over, ageSeconds: 7 });
    expect(goal.grounds()).toEqual({ mark: "met", end: "end", ageSeconds: 7, pastMarkMs: 0 });
    expect(goal.problem(false)).toBe("the list came from a cache, 7 s old");
  });

  it("is the newest payment that was known, and was listed", () => {
    const known = new KnownPayments(0, skewMs);
    for (const [index, id] of ["a", "b", "c"].entries()) known.note({ id, createdAt: at(index) });
    known.note({ pagingToken: "7", createdAt: at(4) });
    const goal = goalOf({ known });
    goal.take([payment("b", at(1)), payment("a", at(0))]);
    goal.end(over);
    expect(goal.grounds()).toMatchObject({ freshBy: "b" });
    expect(goal.problem(false)).toContain("not listed (c)");
    const byToken = goalOf({ known });
    byToken.take([{ pagingToken: "7", createdAt: at(4) } as never]);
    byToken.end(over);
    expect(byToken.grounds()).toMatchObject({ freshBy: "7" });
  });
});

describe("a look rules its payment out", () => {
  it("not where the reading could not, whatever else it saw", () => {
    const goal = goalOf();
    goal.end({ ...over, at: "gap", problem: "a gap" });
    expect(goal.problem(false)).toBe("a gap");
  });

  it("not where its mark is not listed", () => {
    const goal = goalOf({ range: { mark: "7" } });
    goal.end(over);
    expect(goal.problem(false)).toMatch(/^the newest payment from before the money was asked for is not listed/);
  });

  it.each([
    ["lies further back than it went", enough, at(2), undefined],
    ["lies where it ended", enough, at(1), undefined],
    ["lies before its end", enough, at(0), "not listed (7)"],
    ["lies before the end of the list", over, at(2), "not listed (7)"],
  ])("where a known payment that is missing %s", (_, ending, oldest, problem) => {
    const known = new KnownPayments(0, skewMs);
    known.note({ pagingToken: "7", createdAt: at(1) });
    const goal = goalOf({ known });
    goal.take([payment("other", at(9)), payment("oldest", oldest)]);
    goal.end(ending);
    if (problem === undefined) expect(goal.problem(true)).toBeUndefined();
    else expect(goal.problem(true)).toContain(problem);
  });

  it("by the times that can be read", () => {
    const known = new KnownPayments(0, skewMs);
    known.note({ id: "known", createdAt: at(5) });
    const goal = goalOf({ known, range: { mark: { id: "mark" } } });
    goal.take([payment("mark", at(10)), payment("timeless", "soon"), payment("oldest", at(4))]);
    goal.end(enough);
    expect(goal.grounds().pastMarkMs).toBe(6000);
    expect(goal.problem(false)).toContain("not listed (known)");
  });

  it("in an empty list only where nobody knows of a payment", () => {
    const goal = goalOf();
    goal.end(over);
    expect(goal.problem(false)).toBeUndefined();
    expect(goal.problem(true)).toBe("no payment at all is listed, although some were made");
    goal.take([payment("p", at(1))]);
    expect(goal.problem(true)).toBeUndefined();
  });
});

describe("a payment of which nobody can tell whose it is", () => {
  const range = { mark: { id: "mark" }, pastMarkMs: 2000 };
  const problemOf = (...payments: readonly Payment[]) => {
    const goal = goalOf({ range });
    goal.take([payment("mark", at(10)), ...payments]);
    goal.end(enough);
    return goal.problem(true);
  };

  it.each([at(11), at(8), "soon"])("may be the one that is looked for (%s)", (createdAt) => {
    expect(problemOf(payment("p-9", createdAt, "nameless"))).toBe(
      "a listed payment has neither a signature nor a body nor a transaction id, so nothing shows whose it is",
    );
  });

  it("is not the one that is looked for where it is older than that can be", () => {
    expect(problemOf(payment("p-7", at(7.999), "nameless"))).toBeUndefined();
  });

  it("counts by the newest of them", () => {
    const [older, newer] = [payment("p-7", at(7), "nameless"), payment("p-9", at(9), "nameless")];
    expect([problemOf(older, newer), problemOf(newer, older)]).not.toContain(undefined);
  });

  it("is forgotten by a look that begins anew", () => {
    const goal = goalOf({ range });
    goal.take([payment("p-9", at(9), "nameless")]);
    goal.begin();
    goal.take([payment("mark", at(10))]);
    goal.end(enough);
    expect(goal.problem(true)).toBeUndefined();
  });
});
