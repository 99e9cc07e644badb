import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { newFile, nodeSqlite, openSqliteJournal, withoutSqlite } from "../journals/sqlite-fixture.js";
import { eventually } from "../support/eventually.js";
import { closed, flowFixture, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

type Operation = string | undefined;

const hourMs = 3_600_000;
/** Long enough for a busy machine: what a lease that has lapsed had to store is lost. */
const leaseMs = 5000;

/** A refusal that asks for a wait, in the service's own words. */
const busy = (status: number, retryAfter: string) =>
  Response.json({ error: "busy", message: "later" }, { status, headers: { "retry-after": retryAfter } });

/** A flow over a service whose response to a request, from 1, is what `respond` says; what the sandbox saw of flows, and when. */
async function throttledFixture(respond: (operation: Operation, count: number) => Response | undefined) {
  const seen: { readonly operation: Operation; readonly atMs: number }[] = [];
  const fixture = await flowFixture({
    onRequest: ({ operation }) => {
      if (operation !== "payments.create" && operation !== "payments.list") return undefined;
      seen.push({ operation, atMs: performance.now() });
      return respond(operation, seen.filter((earlier) => earlier.operation === operation).length);
    },
  });
  const namesSeen = () => seen.map(({ operation }) => operation);
  return { ...fixture, seen, namesSeen };
}

const firstCreateIs = (response: () => Response) => (operation: Operation, count: number) =>
  operation === "payments.create" && count === 1 ? response() : undefined;

const memoryJournal = async (): Promise<Journal> => new MemoryJournal();

describe.each([
  {
    place: `in SQLite${withoutSqlite}`,
    openJournal: (): Promise<Journal> => openSqliteJournal(newFile()),
    isHere: nodeSqlite !== undefined,
  },
  { place: "in memory", openJournal: memoryJournal, isHere: true },
])("over a journal $place", ({ openJournal, isHere }) => {
  it.runIf(isHere).each([
    ["shorter", 5000, { status: "paid" }],
    ["longer", 300, { code: "flow_paused", effect: "possible", cause: { code: "flow_throttled" } }],
  ])(
    "asks the service for nothing before Retry-After is over, and pauses only where it is longer than the lease: it is %s",
    async (_, leaseMs, ended) => {
      const { flow, seen, sandbox } = await throttledFixture(firstCreateIs(() => busy(429, "1")));
      const options = { journal: await openJournal(), leaseMs };
      const running: Promise<unknown> = flow(options).run("k", request);
      expect(await running.catch((error: unknown) => error)).toMatchObject(ended);
      const worker = flow(options);
      const working = worker.work({ everyMs: 20 });
      await eventually(async () => expect((await worker.status("k"))?.phase).toBe("paid"));
      await worker.close();
      await working;
      const [sent, next] = seen.slice(seen.findIndex(({ operation }) => operation === "payments.create"));
      // A timer may go off a millisecond early.
      expect((next?.atMs ?? 0) - (sent?.atMs ?? 0)).toBeGreaterThan(995);
      expect(seen.filter(({ operation }) => operation === "payments.create")).toHaveLength(2);
      expect(sandbox.payments).toHaveLength(1);
    },
  );
});

/** A journal whose clock says what the test wants: the clocks of the processes say something else. */
function clockedJournal() {
  const clock = { nowMs: 1_000_000_000_000 };
  return { clock, journal: new MemoryJournal({ nowMs: () => clock.nowMs }) };
}

/** One round of a new process. */
async function recovered(flow: { recover(): AsyncIterable<unknown> }): Promise<unknown> {
  try {
    return await all(flow.recover());
  } catch (error) {
    return (error as AggregateError).errors.map(({ cause }) => cause.code);
  }
}

it("counts the wait by the journal's clock, across owners, and never for more than an hour", async () => {
  const { clock, journal } = clockedJournal();
  const { flow, namesSeen } = await throttledFixture(firstCreateIs(() => busy(429, "99999999999")));
  await errorOf(flow({ journal, leaseMs }).run("k", request));
  const before = namesSeen();
  clock.nowMs += hourMs - 2 * leaseMs;
  for (let round = 0; round < 4; round++)
    expect(await recovered(flow({ journal, leaseMs }))).toEqual(["flow_throttled"]);
  expect(namesSeen()).toEqual(before);
  clock.nowMs += 2 * leaseMs;
  expect(await recovered(flow({ journal, leaseMs }))).toMatchObject([{ status: "paid" }]);
});

it("is no failure of the flow, stores nothing, and is asked for by each of the four refusals", async () => {
  const { clock, journal } = clockedJournal();
  const { flow, namesSeen } = await throttledFixture((operation) =>
    operation === "payments.create" ? busy(429, "60") : undefined,
  );
  await errorOf(flow({ journal, leaseMs }).run("k", request));
  const write = vi.spyOn(journal, "write");
  for (let round = 0; round < 4; round++)
    expect(await recovered(flow({ journal, leaseMs }))).toEqual(["flow_throttled"]);
  expect((await flow({ journal, leaseMs }).status("k"))?.failures).toBeUndefined();
  expect(write).not.toHaveBeenCalled();
  for (let sent = 2; sent <= 4; sent++) {
    clock.nowMs += 60_000;
    expect(await recovered(flow({ journal, leaseMs }))).toEqual(["flow_throttled"]);
    expect(namesSeen().filter((operation) => operation === "payments.create")).toHaveLength(sent);
    expect((await flow({ journal, leaseMs }).status("k"))?.failures).toBeUndefined();
    expect(await all(flow({ journal, leaseMs }).held())).toEqual([]);
  }
  clock.nowMs += 60_000;
  expect(await recovered(flow({ journal, leaseMs }))).toMatchObject([{ status: "held", response: { status: 429 } }]);
});

it("does not wait for a clock that was set back", async () => {
  const { clock, journal } = clockedJournal();
  const { flow } = await throttledFixture(firstCreateIs(() => busy(429, "60")));
  await errorOf(flow({ journal, leaseMs }).run("k", request));
  clock.nowMs -= 24 * hourMs;
  expect(await recovered(flow({ journal, leaseMs }))).toMatchObject([{ status: "paid" }]);
});

it("neither looks nor sends again before a 503 allows it", async () => {
  const { clock, journal } = clockedJournal();
  const { flow, namesSeen, sandbox } = await throttledFixture(firstCreateIs(() => busy(503, "60")));
  const options = { journal, service: { singleUseIntents: true } };
  await errorOf(flow(options).run("k", request));
  const before = namesSeen();
  expect(before.at(-1)).toBe("payments.create");
  expect(await recovered(flow(options))).toEqual(["flow_throttled"]);
  expect(namesSeen()).toEqual(before);
  clock.nowMs += 60_000;
  expect(await recovered(flow(options))).toMatchObject([{ status: "paid" }]);
  expect(sandbox.payments).toHaveLength(1);
});

it.each([429, 503])("looks again only once the list's own %i allows it", async (status) => {
  const { clock, journal } = clockedJournal();
  const { flow, namesSeen } = await throttledFixture((operation, count) => {
    if (operation === "payments.create") return count === 1 ? Response.error() : undefined;
    // The first list is the one that notes the newest payment.
    return count === 2 ? busy(status, "60") : undefined;
  });
  expect(await errorOf(flow({ journal, leaseMs }).run("k", request))).toMatchObject({
    cause: { code: `http_${status}` },
  });
  const before = namesSeen();
  for (let round = 0; round < 3; round++)
    expect(await recovered(flow({ journal, leaseMs }))).toEqual(["flow_throttled"]);
  expect(namesSeen()).toEqual(before);
  clock.nowMs += 60_000;
  expect(await recovered(flow({ journal, leaseMs }))).toMatchObject([{ status: "held" }]);
});

it("sends what an operator decided to send again no earlier either", async () => {
  const { clock, journal } = clockedJournal();
  let isAway = true;
  const { flow, namesSeen, sandbox } = await throttledFixture((operation, count) => {
    if (operation === "payments.create") return count === 1 ? Response.error() : undefined;
    return isAway && count > 1 ? busy(503, "60") : undefined;
  });
  await errorOf(flow({ journal, leaseMs }).run("k", request));
  for (let round = 0; round < 2; round++) {
    clock.nowMs += 60_000;
    expect(await recovered(flow({ journal, leaseMs }))).toEqual(["http_503"]);
  }
  const decision = { by: "Olga Operator", why: "the service has no such payment", withoutProof: true };
  const resent = errorOf(flow({ journal, leaseMs }).resolve("k", "resend", decision));
  expect(await resent).toMatchObject({ code: "flow_paused", cause: { code: "flow_throttled" } });
  expect(namesSeen().filter((operation) => operation === "payments.create")).toHaveLength(1);
  isAway = false;
  clock.nowMs += 60_000;
  expect(await recovered(flow({ journal, leaseMs }))).toMatchObject([{ status: "paid" }]);
  expect(sandbox.payments).toHaveLength(1);
});

it("leaves a worker's other flows room, however many wait", async () => {
  const { flow, sandbox } = await throttledFixture((operation, count) =>
    operation === "payments.create" && count <= 20 ? busy(429, "600") : undefined,
  );
  for (let n = 0; n < 20; n++) await errorOf(flow().run(`a${n}`, request));
  const stopped = flow({
    takeFunds: closed,
  });
  await errorOf(stopped.run("b", request));
  const worker = flow();
  const working = worker.work({ everyMs: 20, concurrency: 1 });
  await eventually(async () => expect((await worker.status("b"))?.phase).toBe("paid"));
  await worker.close();
  await working;
  expect(sandbox.payments).toHaveLength(1);
});

it("tells who asks for an intent how long to wait, and stores nothing", async () => {
  const { flow, journal } = await flowFixture({
    onRequest: ({ operation }) => (operation === "paymentIntents.create" ? busy(429, "60") : undefined),
  });
  const refused = { code: "http_429", effect: "none", retryAfterMs: 60_000 };
  expect(await errorOf(flow({}, { maxRetries: 2 }).run("k", request))).toMatchObject(refused);
  expect(await errorOf(flow({}, { maxRetries: 2 }).quote("k", request))).toMatchObject(refused);
  expect(await journal.read("k")).toBeUndefined();
});
