import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import type { PaymentGoal } from "../../src/payments/read-payments.js";
import { SharedReadings } from "../../src/payments/shared-readings.js";
import { listedService, paymentsFrom } from "./listed-service.js";

/** A goal that reads up to a payment, or to the end of the list. */
function goalOf(wanted?: string) {
  const goal = {
    seen: 0,
    at: undefined as string | undefined,
    begin: () => {
      goal.seen = 0;
    },
    take: (page: Parameters<PaymentGoal["take"]>[0]) => {
      goal.seen += page.length;
      return page.some(({ id }) => id === wanted);
    },
    isEnough: () => false,
    end: ({ at }: { readonly at: string }) => {
      goal.at = at;
    },
  };
  return goal satisfies PaymentGoal;
}

/** Readings over a service, with a gate before each first page. */
function sharedFixture(count = 300, respond?: (paging: PagingValues, number: number) => undefined) {
  const service = listedService(paymentsFrom(1, count), respond);
  const readings = new SharedReadings({ client: service.client, lenient: true }, { newestFirst: "createdAt.desc" });
  const begun = () =>
    service.requested.filter(({ _sort, _after, _before, _size }) => {
      return _sort === "createdAt.desc" && _size === 100 && _after === undefined && _before === undefined;
    }).length;
  return { ...service, readings, begun };
}

describe("shared readings", () => {
  it("read once for all who ask while one runs, each to its own end", async () => {
    const { readings, requested, begun } = sharedFixture();
    const first = readings.join(goalOf(), "end");
    const goals = [goalOf(), goalOf("p-300"), ...Array.from({ length: 98 }, () => goalOf())];
    const places = goals.map((goal) => readings.join(goal, "end"));
    await Promise.all([first.over, ...places.map(({ over }) => over)]);
    expect(begun()).toBe(2);
    expect(requested.length).toBeLessThan(25);
    expect(goals.map(({ at }) => at)).toEqual(["end", "found", ...Array(98).fill("end")]);
    expect([goals[0]?.seen, goals[1]?.seen]).toEqual([300, 100]);
  });

  it("never give a reading that had begun to who asks later", async () => {
    const late = goalOf();
    let joined: Promise<void> | undefined;
    const { readings, begun } = sharedFixture(300, (_paging, number) => {
      if (number === 2) joined = readings.join(late, "end").over;
      return undefined;
    });
    await readings.join(goalOf(), "end").over;
    expect([begun(), late.at]).toEqual([1, undefined]);
    await joined;
    expect([begun(), late.seen]).toEqual([2, 300]);
  });

  it("of another depth are not waited for", async () => {
    const { readings } = sharedFixture();
    const deep = goalOf();
    const whole = readings.join(deep, "end").over;
    const near = goalOf("p-300");
    await readings.join(near, "mark").over;
    expect([near.at, deep.at]).toEqual(["found", undefined]);
    await whole;
  });

  it("go on for the others where one leaves, and are given up where nobody is left", async () => {
    const { readings, requested } = sharedFixture(3000);
    const stays = goalOf();
    const leaves = readings.join(goalOf(), "end");
    const place = readings.join(stays, "end");
    leaves.leave();
    await place.over;
    expect(stays.seen).toBe(3000);
    const before = requested.length;
    readings.join(goalOf(), "end").leave();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(requested.length - before).toBeLessThan(3);
  });

  it("fail for all who are still in them, and begin anew for the next", async () => {
    let fails = true;
    const { readings } = sharedFixture(300, (_paging, number) => {
      if (fails && number === 3) throw new Error("no connection");
      return undefined;
    });
    const found = goalOf("p-300");
    const places = [readings.join(found, "end"), readings.join(goalOf(), "end")];
    await places[0]?.over;
    await expect(places[1]?.over).rejects.toThrow("no connection");
    fails = false;
    const next = goalOf();
    await readings.join(next, "end").over;
    expect(next.seen).toBe(300);
  });
});
