import { readFileSync } from "node:fs";
import * as api from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { ConfigError, CrossBorderClient } from "cross-border-payments";
import { MemoryJournal } from "cross-border-payments/flow";
import { observeGauges, openTelemetry } from "cross-border-payments/opentelemetry";
import { expect, it, onTestFinished, vi } from "vitest";
import { gauges } from "../../src/opentelemetry/gauges.js";
import { closed, flowFixture, isPayment, request } from "../flows/flow-fixture.js";
import { deferred } from "../support/deferred.js";

/** Two collectors of one SDK. What they export is what a Prometheus server would read. */
function collectors() {
  const exporters = [1, 2].map(() => new PrometheusExporter({ preventServerStart: true }));
  const provider = new MeterProvider({ readers: exporters });
  onTestFinished(() => provider.shutdown());
  const collect = async (index = 0) => {
    const collected = await exporters[index]?.collect();
    expect(collected?.errors).toEqual([]);
    const metrics = collected?.resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    return Object.fromEntries(
      metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        Object.fromEntries(
          dataPoints.map(({ attributes, value }) => [Object.values(attributes).join(" ") || "all", value]),
        ),
      ]),
    );
  };
  return { meter: provider.getMeter("test"), collect };
}

/** A flow whose owner has left it. */
async function leave(fixture: Awaited<ReturnType<typeof flowFixture>>, key: string): Promise<void> {
  await expect(fixture.flow({ takeFunds: closed }).run(key, request)).rejects.toThrow();
}

const away = () => Promise.reject(new Error("the database is away"));

it("exports flows by phase, what waits for an operator and how old the oldest is", async () => {
  const fixture = await flowFixture({ onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined) });
  const { meter, collect } = collectors();
  const flow = fixture.flow({ journal: fixture.journal, circuitBreaker: { opensAfter: 1 }, leaseMs: 1_000 });
  expect(await flow.run("held", request)).toMatchObject({ status: "held" });
  await leave(fixture, "open");
  await flow.quote("quoted", request);
  await fixture.journal.begin(
    "elsewhere",
    { service: "old.test", gateway: "alpha-bank" },
    { phase: "claimed", settled: false, data: "" },
    { owner: "o", leaseMs: 1_000, nonce: "n" },
  );
  observeGauges(api, flow, { meter });
  const exported = await collect();
  expect(exported).toMatchObject({
    "cross_border.flow.count": { held: 1, "funds-requested": 1, unknown: 0, quoted: 1, claimed: 0, paid: 0 },
    "cross_border.flow.attention": { held: 1, elsewhere: 1 },
    "cross_border.flow.unowned": { all: 1 },
    "cross_border.work.flows": { all: 0 },
    "cross_border.work.queued": { all: 0 },
    "cross_border.circuit_breaker.open": { all: 1 },
    "cross_border.journal.readable": { all: 1 },
    "cross_border.token.held": { all: 0 },
  });
  const ages = exported["cross_border.flow.oldest.age"];
  expect(Object.keys(ages ?? {}).sort()).toEqual(["claimed", "funds-requested", "held", "refused", "unknown"]);
  expect(ages).toMatchObject({ claimed: 0, refused: 0 });
  expect(ages?.held).toBeGreaterThan(0);
  expect(ages?.held).toBeLessThan(120);
});

it("exports how many flows work has taken over", async () => {
  const fixture = await flowFixture();
  const { meter, collect } = collectors();
  for (const key of ["a", "b", "c"]) await leave(fixture, key);
  const { promise: opened, resolve: open } = deferred();
  const takeFunds = (given: Parameters<typeof fixture.bank.takeFunds>[0]) =>
    opened.then(() => fixture.bank.takeFunds(given));
  const flow = fixture.flow({ leaseMs: 600_000, takeFunds });
  observeGauges(api, flow, { meter });
  const stop = new AbortController();
  const working = flow.work({ concurrency: 2, everyMs: 5, signal: stop.signal });
  await expect.poll(async () => (await flow.gauges()).work).toEqual({ flows: 2, queued: 0 });
  expect(await collect()).toMatchObject({ "cross_border.work.flows": { all: 2 } });
  open();
  await expect.poll(async () => (await flow.gauges()).work).toEqual({ flows: 0, queued: 0 });
  stop.abort();
  await working;
});

it("says that the journal can't be read if it throws, exports the rest, and asks again", async () => {
  const fixture = await flowFixture();
  const { meter, collect } = collectors();
  const flow = fixture.flow();
  observeGauges(api, flow, { meter });
  vi.spyOn(fixture.journal, "list").mockRejectedValueOnce(new Error("away")).mockRejectedValueOnce("away");
  const exported = await collect();
  expect(exported).toMatchObject({
    "cross_border.journal.readable": { all: 0 },
    "cross_border.circuit_breaker.open": { all: 0 },
  });
  expect(exported).not.toHaveProperty("cross_border.flow.count");
  const gauges = await flow.gauges();
  expect(gauges.error).toBeInstanceOf(Error);
  expect(gauges).not.toHaveProperty("stored");
  expect(await collect()).toMatchObject({
    "cross_border.journal.readable": { all: 1 },
    "cross_border.flow.count": { paid: 0 },
  });
});

it("waits for a journal that hangs no longer than 5 seconds", async () => {
  const fixture = await flowFixture();
  const { meter, collect } = collectors();
  vi.spyOn(fixture.journal, "list").mockReturnValueOnce(new Promise(() => {}));
  const flow = fixture.flow();
  observeGauges(api, flow, { meter });
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const collecting = collect();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await collecting).toMatchObject({ "cross_border.journal.readable": { all: 0 } });
  expect(await collect()).toMatchObject({ "cross_border.journal.readable": { all: 1 } });
});

it("adds attributes that distinguish the flows of a process, and asks no more once it is stopped", async () => {
  const fixture = await flowFixture();
  const { meter, collect } = collectors();
  const observed = ["alpha-bank", "beta-mobile"].map((gatewayId) => {
    const flow = fixture.flow({ gatewayId });
    const gauges = vi.fn(() => flow.gauges());
    const attributes = { "cross_border.gateway": gatewayId };
    return { gauges, ...observeGauges(api, { gauges }, { meter, attributes }) };
  });
  expect(await collect()).toMatchObject({
    "cross_border.flow.unowned": { "alpha-bank": 0, "beta-mobile": 0 },
    "cross_border.token.held": { "alpha-bank": 0, "beta-mobile": 0 },
  });
  for (const one of observed) one.stop();
  await collect();
  for (const { gauges } of observed) expect(gauges).toHaveBeenCalledTimes(1);
});

it("says of a client whether it requests no token, as after a login that was refused", async () => {
  const { sandbox } = await flowFixture();
  const { meter, collect } = collectors();
  const authUrl = "https://login.test";
  const client = new CrossBorderClient({
    ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl }),
    fetch: async (input, init) =>
      String(input).startsWith(authUrl)
        ? Response.json({ error: "invalid_grant" }, { status: 401 })
        : sandbox.fetch(input, init),
  });
  observeGauges(api, client, { meter });
  expect(await collect()).toEqual({ "cross_border.token.held": { all: 0 } });
  await expect(client.paymentGateways.list()).rejects.toMatchObject({ code: "login_refused" });
  expect(await collect()).toEqual({ "cross_border.token.held": { all: 1 } });
});

it("measures how long the journal takes, and what failed", async () => {
  const fixture = await flowFixture();
  const { meter, collect } = collectors();
  const telemetry = openTelemetry(api, { meter });
  vi.spyOn(fixture.journal, "list").mockImplementation(away);
  const flow = fixture.flow({}, { telemetry });
  expect(await flow.run("k", request)).toMatchObject({ status: "paid" });
  await flow.gauges();
  const durations = (await collect())["cross_border.journal.operation.duration"] ?? {};
  expect(Object.keys(durations)).toEqual(expect.arrayContaining(["begin", "write", "list _OTHER"]));
  expect(durations.begin).toMatchObject({ count: 1 });
});

it.each([
  ["nothing", api, undefined, {}],
  ["a journal", api, new MemoryJournal(), {}],
  ["something else than a meter", api, { gauges: away }, { meter: {} }],
  ["attributes that are numbers", api, { gauges: away }, { attributes: { a: 1 } }],
  ["something else than the package", {}, { gauges: away }, {}],
] as const)("refuses %s", (_, wrongApi, source, options) => {
  expect(() => observeGauges(wrongApi as never, source as never, options as never)).toThrow(ConfigError);
});

it("has a row in the guide for each gauge", () => {
  const rows = readFileSync("docs/opentelemetry.md", "utf8").matchAll(
    /^\| `(cross_border\.[\w.]+)` \| (flows|s|0 or 1) \|/gm,
  );
  const units: Readonly<Record<string, string>> = { "{flow}": "flows", s: "s", "": "0 or 1" };
  expect([...rows].map(([, name, unit]) => [name, unit]).sort()).toEqual(
    gauges.map(({ name, unit = "" }) => [name, units[unit]]).sort(),
  );
});
