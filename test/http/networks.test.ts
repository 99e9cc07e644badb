import { createServer } from "node:http";
import { CrossBorderClient } from "cross-border-payments";
import { expect, it, onTestFinished, vi } from "vitest";
import { originInTest } from "../support/origin-of.js";

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
