import { createSign } from "node:crypto";
import { CrossBorderError } from "cross-border-payments";
import { expect, it } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { brief, flowFixture, request } from "./flow-fixture.js";

const html = (status: number) =>
  new Response("<html><body>no such route</body></html>", { status, headers: { "content-type": "text/html" } });

it.each([404, 502])(
  "takes the money of few of 1,000 payments while each one is responded to with a page of HTML and %d",
  async (status) => {
    let isDead = true;
    const { flow, bank, sandbox } = await flowFixture({
      onRequest: ({ operation }) => (isDead && operation === "payments.create" ? html(status) : undefined),
    });
    const concurrency = 16;
    const stopped = flow({ readBackDelayMs: 0, leaseMs: 30_000 });
    const ends: (string | CrossBorderError)[] = [];
    let next = 0;
    const line = async () => {
      while (next < 1000) {
        const running = stopped.run(`order-${next++}`, request);
        ends.push(await running.then(({ status }) => status).catch((error: CrossBorderError) => error));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, line));
    const taken = bank.taken.size;
    expect(taken).toBeGreaterThanOrEqual(5);
    expect(taken).toBeLessThanOrEqual(5 + concurrency);
    expect(ends.filter((end) => end === "held")).toHaveLength(taken);
    const refused = ends.filter((end) => end instanceof CrossBorderError);
    expect(refused).toHaveLength(1000 - taken);
    // Those that were stored already when the breaker opened go on later; nothing was done for any other.
    const paused = refused.filter(({ effect }) => effect !== "none");
    expect(paused.length).toBeLessThanOrEqual(concurrency);
    for (const error of paused)
      expect(error).toMatchObject({ code: "flow_paused", cause: { code: "flow_circuit_open" } });
    const codes = new Set(refused.filter((error) => !paused.includes(error)).map(({ code }) => code));
    expect([...codes]).toEqual(["flow_circuit_open"]);
    const counts = await stopped.counts();
    expect([counts.held, counts["funds-requested"], counts.paid]).toEqual([taken, paused.length, 0]);
    expect(sandbox.payments).toHaveLength(0);
    isDead = false;
  },
);

it("tries one payment after the pause, and makes all of them after a definite response", async () => {
  let isDead = true;
  const { flow, bank } = await flowFixture({
    onRequest: ({ operation }) => (isDead && operation === "payments.create" ? html(404) : undefined),
  });
  const pauseMs = 400;
  const stopped = flow({ readBackDelayMs: 0, circuitBreaker: { opensAfter: 2, pauseMs } });
  const statusOf = (key: string) =>
    stopped.run(key, request).then(
      ({ status }) => status,
      ({ code, cause }) => cause?.code ?? code,
    );
  expect([await statusOf("1"), await statusOf("2"), await statusOf("3")]).toEqual([
    "held",
    "held",
    "flow_circuit_open",
  ]);
  const untilProbe = async () => {
    for (let index = 0; ; index++) {
      const status = await statusOf(`probe-${pauseMs}-${bank.taken.size}-${index}`);
      if (status !== "flow_circuit_open") return status;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  expect(await untilProbe()).toBe("held");
  expect(bank.taken.size).toBe(3);
  expect(await statusOf("4")).toBe("flow_circuit_open");
  isDead = false;
  expect(await untilProbe()).toBe("paid");
  expect([await statusOf("5"), await statusOf("6")]).toEqual(["paid", "paid"]);
});

it("takes money for new payments as long as those whose responses are lost are found to be made", async () => {
  const { flow, sandbox } = await flowFixture({
    onResponse: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
  });
  const own = flow({ leaseMs: 30_000, circuitBreaker: { opensAfter: 2, pauseMs: 600_000 } });
  for (let payment = 1; payment <= 5; payment++) {
    expect(await own.run(`order-${payment}`, request)).toMatchObject({ status: "paid" });
  }
  const atOnce = await Promise.all(
    ["a", "b", "c"].map((key) => own.run(key, request).catch(({ code }: CrossBorderError) => code)),
  );
  expect(atOnce.length).toBe(3);
  // Those that were under way at once may have opened it: what is found closes it again.
  expect(await own.run("last", request)).toMatchObject({ status: "paid" });
  expect(sandbox.payments.length).toBeGreaterThanOrEqual(6);
});

it("does not take what an earlier owner had made for a response to anything that is sent now", async () => {
  let isDead = true;
  const { flow, bank, sandbox, journal } = await flowFixture(
    {
      onRequest: ({ operation }) =>
        isDead && bank.taken.size > 1 && operation === "payments.create" ? html(502) : undefined,
      onResponse: ({ operation }) => (isDead && operation === "payments.create" ? Response.error() : undefined),
    },
    brief,
  );
  // An owner that is gone once it has sent its payment.
  const isGone = () => sandbox.payments.length === 1;
  const journalOfFirst = new Proxy(journal, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => (isGone() ? Promise.reject(new Error("gone")) : value.apply(target, given));
    },
  });
  await flow({ journal: journalOfFirst })
    .run("old", request)
    .catch(() => {});
  expect(isGone()).toBe(true);
  const own = flow({ readBackDelayMs: 0, ...brief, circuitBreaker: { opensAfter: 1, pauseMs: 600_000 } });
  expect(await own.run("new", request)).toMatchObject({ status: "held" });
  expect(await own.run("old", request)).toMatchObject({ status: "paid" });
  const refused = await own.run("another", request).catch((error: CrossBorderError) => error);
  expect(refused).toMatchObject({ code: "flow_circuit_open" });
  isDead = false;
});

it("looks for the payment of money that was taken while nothing is tried, and counts no failure of a flow that waits", async () => {
  const { privateKey, publicKey } = keyPairOf("stranger");
  const { flow, bank, sandbox } = await flowFixture({
    onRequest: ({ operation }) => (operation === "payments.create" ? html(404) : undefined),
  });
  let isAway = false;
  const sign = async (text: Uint8Array) => {
    if (isAway) throw new Error("the key service is away");
    return createSign("sha256").update(text).sign(privateKey);
  };
  const circuitBreaker = { opensAfter: 1, pauseMs: 600_000 };
  const takeFunds: typeof bank.takeFunds = (context) => {
    isAway = context.key === "taken" && !bank.taken.has("taken");
    return bank.takeFunds(context);
  };
  const stopped = flow({ readBackDelayMs: 10, circuitBreaker, takeFunds }, { signingKey: { publicKey, sign } });
  const causeOf = (key: string) => stopped.run(key, request).catch(({ cause }: CrossBorderError) => cause);
  expect(await causeOf("taken")).toMatchObject({ code: "signing_failed" });
  expect(await stopped.run("order-1", request)).toMatchObject({ status: "held" });
  const requestsOf = (name: string) => sandbox.requests.filter(({ operation }) => operation === name).length;
  const [looks, payments] = [requestsOf("payments.list"), requestsOf("payments.create")];
  for (let round = 0; round < 4; round += 1)
    expect(await causeOf("taken")).toMatchObject({ code: "flow_circuit_open" });
  expect([requestsOf("payments.list") >= looks + 4, requestsOf("payments.create")]).toEqual([true, payments]);
  expect(await stopped.status("taken")).toMatchObject({ phase: "funds-requested", failures: { count: 1 } });
  const shown: string[] = [];
  for await (const found of stopped.held()) if (found.status !== "elsewhere") shown.push(found.key);
  expect(shown).toEqual(["order-1"]);
});

it("leaves a quote as it is while nothing is tried", async () => {
  const { flow, bank } = await flowFixture({
    onRequest: ({ operation }) => (operation === "payments.create" ? html(404) : undefined),
  });
  const stopped = flow({ readBackDelayMs: 0, circuitBreaker: { opensAfter: 1 } });
  const { intent } = await stopped.quote("quoted", request);
  await stopped.run("order-1", request);
  await expect(stopped.confirm("quoted", { intentId: intent.id })).rejects.toMatchObject({
    code: "flow_circuit_open",
    effect: "none",
  });
  expect(await stopped.status("quoted")).toMatchObject({ phase: "quoted" });
  expect([...bank.taken.keys()]).toEqual(["order-1"]);
});
