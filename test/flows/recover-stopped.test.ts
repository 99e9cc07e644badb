import type { Journal } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { eventually } from "../support/eventually.js";
import { boundJournal } from "./bound-journal.js";
import { closed, flowFixture, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

/** A flow whose owner is gone, and a journal that keeps its next owner waiting for the lease. */
async function leasingFixture() {
  const fixture = await flowFixture();
  const { flow, journal: store, sandbox } = fixture;
  await errorOf(flow({ takeFunds: closed }).run("k", request));
  const before = await store.read("k");
  let lease = () => {};
  const isLeasing = vi.fn();
  const calls: string[] = [];
  const leasing = new Promise<void>((resolve) => {
    lease = resolve;
  });
  const journal = boundJournal(store, {
    acquireAbandoned: async (...args) => {
      const entry = await store.acquireAbandoned(...args);
      isLeasing();
      await leasing;
      return entry;
    },
    ...watched(store, calls),
  });
  const takeFunds = vi.fn(fixture.bank.takeFunds);
  const leased = () => eventually(() => expect(isLeasing).toHaveBeenCalled());
  const requests = sandbox.requests.length;
  const expectUntouched = async () => {
    expect(takeFunds).not.toHaveBeenCalled();
    expect(sandbox.requests).toHaveLength(requests);
    expect(calls).toEqual(["release"]);
    const { leaseUntilMs, data } = (await store.read("k")) ?? {};
    expect([leaseUntilMs, data]).toEqual([undefined, before?.data]);
  };
  return { ...fixture, owner: flow({ journal, takeFunds, leaseMs: 60_000 }), lease, leased, expectUntouched };
}

function watched(store: Journal, calls: string[]): Partial<Journal> {
  return {
    write: (...args) => {
      calls.push("write");
      return store.write(...args);
    },
    release: (...args) => {
      calls.push("release");
      return store.release(...args);
    },
  };
}

describe("a flow that the journal leases while its taker is told to stop", () => {
  it("is left as it was by recover, which says so, and is free at once", async () => {
    const { owner, lease, leased, expectUntouched, flow } = await leasingFixture();
    const stop = new AbortController();
    const recovering = errorOf<AggregateError>(all(owner.recover({ signal: stop.signal })));
    await leased();
    stop.abort();
    lease();
    expect((await recovering).errors).toMatchObject([
      { code: "flow_paused", key: "k", effect: "possible", cause: { code: "aborted" } },
    ]);
    await expectUntouched();
    expect(await all(flow().recover())).toMatchObject([{ status: "paid" }]);
  });

  it("is left as it was by work", async () => {
    const { owner, lease, leased, expectUntouched } = await leasingFixture();
    const stop = new AbortController();
    const working = owner.work({ signal: stop.signal });
    await leased();
    stop.abort();
    lease();
    await working;
    await expectUntouched();
  });

  it("is left as it was by a flow that is closed", async () => {
    const { owner, lease, leased, expectUntouched } = await leasingFixture();
    const working = owner.work();
    await leased();
    const closing = owner.close();
    lease();
    expect(await closing).toEqual({ pending: 0 });
    await working;
    await expectUntouched();
  });
});
