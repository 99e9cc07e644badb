import { JournalError } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { flowFixture, request } from "./flow-fixture.js";
import { all } from "./results.js";

it("follows a flow from its quote to its payment", async () => {
  const { flow, bank } = await flowFixture();
  const owner = flow({
    owner: "process-7",
    takeFunds: async (context) => {
      phases.push((await reader.status("order-1")) ?? {});
      return bank.takeFunds(context);
    },
  });
  const phases: object[] = [];
  const reader = flow();
  expect(await reader.status("order-1")).toBeUndefined();
  const { intent, expiresAtMs } = await owner.quote("order-1", request);
  expect(await reader.status("order-1")).toMatchObject({ phase: "quoted", intent, expiresAtMs, isExpired: false });
  const outcome = await owner.confirm("order-1", { intentId: intent.id });
  expect(phases).toMatchObject([{ phase: "funds-requested", owner: "process-7", intent }]);
  const paid = await reader.status("order-1");
  expect(paid).toMatchObject({ phase: "paid", outcome, intent });
  expect(paid).not.toHaveProperty("owner");
});

it("lists and counts the flows of its own gateway", async () => {
  const { flow } = await flowFixture();
  const alpha = flow({ gatewayId: "alpha-bank" });
  await alpha.run("order-2", request);
  await alpha.quote("order-1", request);
  const beta = flow({ gatewayId: "beta-mobile" });
  expect((await all(alpha.list())).map(({ key, phase }) => [key, phase])).toEqual([
    ["order-1", "quoted"],
    ["order-2", "paid"],
  ]);
  expect((await all(alpha.list({ phase: "paid" }))).map(({ key }) => key)).toEqual(["order-2"]);
  expect((await all(alpha.list({ after: "order-1" }))).map(({ key }) => key)).toEqual(["order-2"]);
  expect(await alpha.counts()).toMatchObject({ quoted: 1, paid: 1, held: 0 });
  expect([await all(beta.list()), (await beta.counts()).paid]).toEqual([[], 0]);
  await expect(beta.status("order-1")).rejects.toMatchObject({ code: "flow_foreign" });
});

it("gives the outcome of a flow only once it has one", async () => {
  const { flow } = await flowFixture();
  const reader = flow();
  expect(await reader.outcome("order-1")).toBeUndefined();
  await flow().quote("order-1", request);
  expect(await reader.outcome("order-1")).toBeUndefined();
  const outcome = await flow().run("order-1", request);
  expect(await reader.outcome("order-1")).toEqual(outcome);
});

it("refuses to list a phase that there is not", async () => {
  const { flow } = await flowFixture();
  await expect(async () => all(flow().list({ phase: "done" as never }))).rejects.toMatchObject({
    code: "invalid_argument",
  });
});

it("shows an operator a flow whose bank keeps failing, until it gets further", async () => {
  const { flow, bank } = await flowFixture();
  let isAway = true;
  const failing = flow({
    takeFunds: (context) => {
      if (isAway) throw new TypeError("the bank is away");
      return bank.takeFunds(context);
    },
  });
  for (const failures of [1, 2, 3]) {
    await expect(failing.run("order-1", request)).rejects.toMatchObject({ code: "flow_paused" });
    expect(await failing.status("order-1")).toMatchObject({
      phase: "funds-requested",
      failures: { count: failures, code: "TypeError", message: expect.not.stringContaining("the bank is away") },
    });
    expect(await all(failing.held())).toHaveLength(failures < 3 ? 0 : 1);
  }
  expect(await all(failing.held())).toMatchObject([{ status: "stuck", key: "order-1", phase: "funds-requested" }]);
  isAway = false;
  expect(await failing.run("order-1", request)).toMatchObject({ status: "paid" });
  expect(await all(failing.held())).toEqual([]);
  expect(await failing.status("order-1")).not.toHaveProperty("failures");
});

it.each([
  ["its code", Object.assign(new RangeError("secret"), { code: "E_LIMIT.daily-1" }), ["RangeError", "E_LIMIT.daily-1"]],
  [
    "its cause's code",
    new TypeError("secret", { cause: Object.assign(new Error("secret"), { code: "ECONNREFUSED" }) }),
    ["TypeError", "ECONNREFUSED"],
  ],
  ["no code that is a sentence", Object.assign(new Error("secret"), { code: "no secret account" }), ["Error"]],
  ["no code that is long", Object.assign(new Error("secret"), { code: "a".repeat(65) }), ["Error"]],
  ["no name that is a sentence", Object.assign(new Error("secret"), { name: "the secret account" }), ["Error"]],
  [
    "no code that can't be read",
    Object.defineProperty(new Error("secret"), "code", {
      get: () => {
        throw new Error("secret");
      },
    }),
    ["Error"],
  ],
] as const)("stores of an error of the bank's its name and %s", async (_, error, [code, errorCode]) => {
  const { flow, journal } = await flowFixture();
  const takeFunds = () => {
    throw error;
  };
  await expect(flow({ takeFunds }).run("order-1", request)).rejects.toMatchObject({ code: "flow_paused" });
  const failures = (await flow().status("order-1"))?.failures;
  expect([failures?.code, failures?.errorCode]).toEqual([code, errorCode]);
  expect((await journal.read("order-1"))?.data).not.toContain("secret");
});

it("works through the flows of processes that are gone, and reports what fails on the way", async () => {
  const { flow, journal } = await flowFixture();
  const gone = flow({
    takeFunds: () => {
      throw new Error("killed");
    },
  });
  for (const key of ["1", "2", "3"]) await expect(gone.run(key, request)).rejects.toThrow();
  const errors: unknown[] = [];
  const steps: string[] = [];
  const stop = new AbortController();
  const acquire = journal.acquireAbandoned.bind(journal);
  let failures = 2;
  journal.acquireAbandoned = async (...given) => {
    if (failures-- > 0) throw new JournalError("the journal is away", { cause: undefined });
    return acquire(...given);
  };
  const worker = flow({
    on: {
      error: (error) => errors.push(error),
      flow: ({ key, from, to }) => {
        if (to === "paid") steps.push(`${key}: ${from} → ${to}`);
        if (steps.length === 3) stop.abort();
      },
    },
  });
  await worker.work({ everyMs: 5, signal: stop.signal });
  expect(errors).toMatchObject([{ code: "journal_failed" }, { code: "journal_failed" }]);
  expect(steps.sort()).toEqual(["1: claimed → paid", "2: claimed → paid", "3: claimed → paid"]);
});

it("takes over what another process leaves behind while it works", async () => {
  const { flow } = await flowFixture();
  const worker = flow();
  const stop = new AbortController();
  const working = worker.work({ everyMs: 5, signal: stop.signal });
  const gone = flow({
    takeFunds: () => {
      throw new Error("killed");
    },
  });
  await expect(gone.run("order-1", request)).rejects.toThrow();
  while ((await worker.status("order-1"))?.phase !== "paid") await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await working;
});
