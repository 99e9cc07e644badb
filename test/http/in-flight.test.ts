import { expect, it, vi } from "vitest";
import { Schemas } from "../../src/http/schema.js";
import { calls, json, paymentRecord, scriptedClient } from "./scripted-transport.js";

/** Whether a promise has settled once all that needs no more input is done. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const settled = vi.fn();
  promise.then(settled, settled);
  await new Promise(setImmediate);
  return settled.mock.calls.length > 0;
}

/** A client whose token source gives each token when the test says so. */
async function waitingClient() {
  const schemas = new Schemas();
  await schemas.load();
  const waiting: ((token: string) => void)[] = [];
  const wait = () => new Promise<string>((resolve) => waiting.push(resolve));
  const made = scriptedClient([json(paymentRecord())], {
    schemas,
    tokens: { current: wait, renew: wait },
  });
  return { ...made, next: () => waiting.shift()?.("token-1") };
}

it("keeps a client that closes waiting until the last call under way has ended", async () => {
  const { client, transport, next } = await waitingClient();
  const running = [calls.read(client), calls.read(client)];
  await new Promise(setImmediate);
  const closing = client.close();
  for (const one of running) {
    expect(await isSettled(closing)).toBe(false);
    expect(transport.closed).toBe(0);
    next();
    await one;
  }
  await closing;
  expect(transport.closed).toBe(1);
});

it("does not keep a client waiting that has nothing under way", async () => {
  const { client, transport } = scriptedClient([json(paymentRecord())]);
  await calls.read(client);
  await client.close();
  expect(transport.closed).toBe(1);
});
