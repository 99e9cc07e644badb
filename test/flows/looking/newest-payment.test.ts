import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { CallInput } from "../../../src/api/api-client.js";
import { FlowCall } from "../../../src/flows/flow-call.js";
import { NewestPayment } from "../../../src/flows/looking/newest-payment.js";
import { toApiPromise } from "../../../src/http/api-promise.js";
import { Alarm } from "../../../src/timing/alarm.js";
import { fakeApiClient } from "../../paging/fake-api-client.js";
import { flowFixture, isList, request } from "../flow-fixture.js";

const call = new FlowCall(undefined, new Alarm(), undefined);

/** A service whose newest payment's token is the number of the request; `respond` may wait, or throw, before that. */
function newestPaymentFixture(respond: (request: number) => unknown = () => undefined) {
  const requests: CallInput<unknown>[] = [];
  const page = async () => {
    const request = requests.length;
    await respond(request);
    return [{ pagingToken: String(request) }] as never;
  };
  const client = fakeApiClient({
    call: (_operation, _ids, input) => {
      requests.push(input ?? {});
      return toApiPromise(page());
    },
  });
  const noted: unknown[] = [];
  const newest = new NewestPayment(client, { note: (payment) => noted.push(payment) }, 60_000);
  return { requests, noted, mark: () => newest.mark(call) };
}

describe("the newest payment", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
  });

  it("is asked for once a second, however many flows are begun", async () => {
    const { requests, mark } = newestPaymentFixture();
    expect(await Promise.all([mark(), mark()])).toEqual([{ token: "1" }, { token: "1" }]);
    vi.advanceTimersByTime(999);
    expect(await mark()).toEqual({ token: "1" });
    vi.advanceTimersByTime(1);
    expect(await mark()).toEqual({ token: "2" });
    expect(requests.map(({ paging }) => paging)).toEqual(Array(2).fill({ _sort: "createdAt.desc", _size: 1 }));
  });

  it("is asked for again at once where that failed", async () => {
    const { mark } = newestPaymentFixture((nth) => {
      if (nth === 1) throw new Error("no connection");
    });
    await expect(mark()).rejects.toThrow("no connection");
    expect(await mark()).toEqual({ token: "2" });
  });

  it("is not asked for again because an earlier request fails late", async () => {
    let fail: (error: Error) => void = () => {};
    const first = new Promise((_, reject) => {
      fail = reject;
    });
    const { mark, requests } = newestPaymentFixture((nth) => (nth === 1 ? first : undefined));
    const late = mark();
    vi.advanceTimersByTime(1000);
    expect(await mark()).toEqual({ token: "2" });
    fail(new Error("no connection"));
    await expect(late).rejects.toThrow("no connection");
    expect(await mark()).toEqual({ token: "2" });
    expect(requests).toHaveLength(2);
  });

  it("may differ from the description", async () => {
    const odd = { pagingToken: "p-1", createdAt: 1_700_000_000 };
    const { flow } = await flowFixture({ onRequest: (seen) => (isList(seen) ? Response.json([odd]) : undefined) });
    expect(await flow({}, { validation: "strict" }).run("k", request)).toMatchObject({ status: "paid" });
  });
});
