import { expect, it, vi } from "vitest";
import { callerTokenSource } from "../../src/auth/caller-token-source.js";
import { TokenError } from "../../src/errors/errors.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { errorOf, scriptedClient } from "./scripted-transport.js";

type Tokens = HttpClientOptions["tokens"];

function clientWith(tokens: Partial<Tokens>) {
  return scriptedClient([], { tokens: { current: () => "token", renew: async () => "other", ...tokens } });
}

it("asks the token source for as long as it is told, with the call's own options or the client's", async () => {
  const ensure = vi.fn<NonNullable<Tokens["ensure"]>>(async () => {});
  const { client, transport } = clientWith({ ensure });
  await client.ensureToken(1234, { maxRetries: 7 });
  expect(ensure.mock.lastCall).toEqual([1234, expect.anything(), 7]);
  expect(transport.sent).toEqual([]);
});

it("asks a caller's function once, as any call does, and tells of its failure", async () => {
  const accessToken = vi.fn(() => "token");
  const { client } = clientWith(callerTokenSource({ accessToken }));
  await client.ensureToken(1000);
  expect(accessToken).toHaveBeenCalledTimes(1);
  accessToken.mockImplementation(() => {
    throw new Error("no token today");
  });
  expect(await errorOf(client.ensureToken(1000))).toMatchObject({ code: "token_source_failed", effect: "none" });
});

it("turns the end of the call into its error, and reports failures", async () => {
  const ensure: Tokens["ensure"] = (_, deadline) => deadline.race(new Promise(() => {}));
  const { client, events } = clientWith({ ensure });
  expect(await errorOf(client.ensureToken(1000, { timeoutMs: 5 }))).toMatchObject({ code: "timeout", effect: "none" });
  expect(await errorOf(client.ensureToken(1000, { signal: AbortSignal.timeout(5) }))).toMatchObject({
    code: "aborted",
  });
  expect(events.failure.mock.calls.map(([event]) => [event.operation, event.code])).toEqual([
    ["accessToken", "timeout"],
    ["accessToken", "aborted"],
  ]);
});

it("throws the token source's own error as it is", async () => {
  const refused = new TokenError("the login was refused", { code: "login_refused" });
  const { client } = clientWith({ ensure: () => Promise.reject(refused) });
  expect(await errorOf(client.ensureToken(1000))).toBe(refused);
});

it("refuses options that a call would refuse, and a closed client", async () => {
  const { client } = clientWith({});
  expect(await errorOf(client.ensureToken(1000, { timeoutMs: 0 }))).toMatchObject({ code: "invalid_argument" });
  await client.close();
  expect(await errorOf(client.ensureToken(1000))).toMatchObject({ code: "client_closed" });
});

it("keeps close waiting for the token", async () => {
  let give = () => {};
  const ensure = () =>
    new Promise<void>((resolve) => {
      give = resolve;
    });
  const { client, transport } = clientWith({ ensure });
  const sure = client.ensureToken(1000);
  const closing = client.close();
  expect(transport.closed).toBe(0);
  give();
  await sure;
  await closing;
  expect(transport.closed).toBe(1);
});

it("tells its base URL without a slash at its end", () => {
  const { client } = scriptedClient([], { origin: "https://service.example", basePath: "/base" });
  expect(client.baseUrl).toBe("https://service.example/base");
});
