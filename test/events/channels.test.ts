import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, it } from "vitest";
import { channelListener, createReporter } from "../../src/events/reporter.js";
import { openChannel as openOnWeb } from "../../src/platform/web.js";
import { openChannel as openOnWorkerd } from "../../src/platform/workerd.js";
import { flowFixture, request } from "../flows/flow-fixture.js";
import { calls, json, type Step, scriptedClient } from "../http/scripted-transport.js";

/** What is published under a name while the work lasts. */
async function heardOn(name: string, work: () => PromiseLike<unknown>): Promise<unknown[]> {
  const heard: unknown[] = [];
  const hear = (message: unknown) => void heard.push(message);
  subscribe(name, hear);
  await Promise.allSettled([work()]);
  unsubscribe(name, hear);
  return heard;
}

const overChannels = (steps: readonly Step[]) =>
  scriptedClient(steps, { reporter: createReporter([channelListener()]) }).client;

it("tells subscribers what hooks are told", async () => {
  const steps = [{ status: 503 }, json({ id: "1", memo: 5 })];
  const hooked = scriptedClient(steps);
  await calls.read(hooked.client);
  for (const name of ["response", "success", "retry", "mismatch"] as const) {
    const heard = await heardOn(`cross-border-payments:${name}`, () => calls.read(overChannels(steps)));
    const anyTime = (event: object) => ({ ...event, ...("durationMs" in event && { durationMs: expect.any(Number) }) });
    expect(heard, name).toEqual(hooked.events[name].mock.calls.map(([event]) => anyTime(event)));
  }
  expect(
    await heardOn("cross-border-payments:failure", () => calls.read(overChannels([{ status: 404 }]))),
  ).toMatchObject([{ operation: "paymentIntents.get", code: "http_404", effect: "none" }]);
});

it("tells of tokens and of the steps of flows, without an option", async () => {
  const { flow, client } = await flowFixture();
  const steps = await heardOn("cross-border-payments:flow", () => flow().run("order-1", request));
  expect(steps).toMatchObject([{ key: "order-1", to: "funds-requested" }, { to: "claimed" }, { to: "paid" }]);
  const tokens = await heardOn("cross-border-payments:token", () => flow({}, {}).quote("order-2", request));
  expect(tokens).toMatchObject([{ grant: "password" }]);
  await client.close();
});

it("does not publish what a bank's functions threw", () => {
  expect(Object.keys(channelListener())).not.toContain("error");
  expect(channel("cross-border-payments:error").hasSubscribers).toBe(false);
});

it("is absent on the web", () => {
  expect([openOnWeb, openOnWorkerd]).toEqual([undefined, undefined]);
});
