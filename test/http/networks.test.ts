import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { CrossBorderClient } from "cross-border-payments";
import { expect, it, onTestFinished, vi } from "vitest";
import { originInTest, originOf } from "../support/origin-of.js";

const auth = { accessToken: () => "token" };

it.each([
  ["documented for Vitest", ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"]],
  ["documented for Jest", ["setTimeout", "clearTimeout", "Date", "performance"]],
] as const)("makes calls and closes under the fake timers %s", async (_, toFake) => {
  const server = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
  const baseUrl = await originInTest(server);
  vi.useFakeTimers({ toFake: [...toFake] });
  onTestFinished(() => void vi.useRealTimers());
  const client = new CrossBorderClient({ baseUrl, auth, maxSockets: 2 });
  for (let count = 0; count < 6; count++) {
    expect(await client.request({ method: "GET", path: "/x" })).toEqual({});
    expect(await client.request({ method: "POST", path: "/x", body: {} })).toEqual({});
  }
  await client.close();
});

it("survives a service that is away for some seconds", async () => {
  const first = createServer();
  const baseUrl = await originOf(first);
  await new Promise((resolve) => first.close(resolve));
  await using client = new CrossBorderClient({ baseUrl, auth });
  const reading = client.request({ method: "GET", path: "/x" });
  await sleep(3000);
  const restarted = createServer((_, response) => response.end("{}"));
  restarted.listen(Number(new URL(baseUrl).port), "127.0.0.1");
  onTestFinished(() => void restarted.close());
  expect(await reading).toEqual({});
});
