import { ApiError } from "cross-border-payments";
import { describe, expect, it, vi } from "vitest";
import type { FlowContext, OwnedFlow } from "../../../src/flows/flow-context.js";
import { askedWaitOf, waitAsAsked } from "../../../src/flows/steps/asked-wait.js";
import { errorOf } from "../results.js";

const leaseMs = 5000;
const context = { leaseMs } as FlowContext;
const sinceMs = 1_000_000_000_000;

/** A flow whose owner's journal says that so much time has passed, and the waits of its call. */
function owned(elapsedMs = 0) {
  const pause = vi.fn(async (_ms: number) => {});
  const flow = { lease: { journalNowMs: () => sinceMs + elapsedMs }, call: { pause } } as unknown as OwnedFlow;
  return { flow, waits: () => pause.mock.calls.map(([ms]) => ms) };
}

/** How long a step waits once so much time has passed since the service asked it to; `[]` where it does not wait at all. */
async function waitsOf(askedForMs: number | undefined, elapsedMs: number, ownMs?: number): Promise<number[]> {
  const { flow, waits } = owned(elapsedMs);
  await waitAsAsked(context, flow, askedForMs === undefined ? undefined : { sinceMs, forMs: askedForMs }, ownMs);
  return waits();
}

const responseWith = (retryAfterMs: number | undefined) =>
  ApiError.of("payments.create: the service responded with 503", {
    code: "http_503",
    retryAfterMs,
    response: { status: 503, headers: {}, text: "" },
  });

describe("what a failure asks of a flow", () => {
  it("is what its Retry-After says, by the journal's clock", () => {
    expect(askedWaitOf(owned(7).flow, responseWith(2000))).toEqual({
      askedWait: { sinceMs: sinceMs + 7, forMs: 2000 },
    });
  });

  it.each([
    ["names no time", responseWith(undefined)],
    ["allows the next request at once", responseWith(0)],
    ["came without a response", new Error("no connection")],
  ])("is nothing that would have to be stored where it %s", (_, error) => {
    expect(askedWaitOf(owned().flow, error)).toStrictEqual({});
  });
});

describe("before it asks the service, a step", () => {
  it("waits for what is left of the time, or as long as it would in any case, whichever is longer", async () => {
    expect(await waitsOf(3000, 1000)).toEqual([2000]);
    expect(await waitsOf(3000, 1000, 1999)).toEqual([2000]);
    expect(await waitsOf(3000, 1000, 2001)).toEqual([2001]);
    expect(await waitsOf(undefined, 0, 10)).toEqual([10]);
  });

  it.each([
    ["nothing was asked", undefined, 0],
    ["the time is just over", 3000, 3000],
    ["the time has long been over", 3000, 60_000],
  ])("goes on at once where %s", async (_, askedForMs, elapsedMs) => {
    expect(await waitsOf(askedForMs, elapsedMs)).toEqual([]);
  });

  it("waits itself for up to a lease, and leaves anything longer to a later owner", async () => {
    expect(await waitsOf(leaseMs, 0)).toEqual([leaseMs]);
    expect(await errorOf(waitsOf(leaseMs + 1, 0))).toMatchObject({ code: "flow_throttled" });
  });

  it("says for how many seconds the flow has to leave the service alone", async () => {
    const { message } = await errorOf(waitsOf(60_000, 900));
    expect(message).toMatch(/Retry-After.* 60 s$/);
  });

  it("takes the journal's clock for one that was set back only where it is off by more than a lease", async () => {
    expect(await waitsOf(3000, -leaseMs)).toEqual([3000]);
    expect(await waitsOf(3000, -leaseMs - 1)).toEqual([]);
  });
});
