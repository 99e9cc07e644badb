import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../support/eventually.js";
import { FakeTokenEndpoint, granted, responded } from "./fake-token-endpoint.js";
import { auth, within } from "./manager-fixture.js";

const file = "../../src/auth/token-manager.js";

beforeEach(() => {
  vi.resetModules();
});

afterEach(() => {
  vi.doUnmock(file);
  vi.resetModules();
});

async function lateManager(fake: FakeTokenEndpoint) {
  const { LateTokenManager } = await import("../../src/auth/late-token-manager.js");
  return new LateTokenManager({ auth, transport: fake });
}

it("loads what requests tokens with the first call, and not before", async () => {
  const load = vi.fn((original: () => Promise<object>) => original());
  vi.doMock(file, load);
  const fake = new FakeTokenEndpoint(granted("first"));
  const manager = await lateManager(fake);
  manager.accepted("none");
  manager.refused("none");
  expect(load).not.toHaveBeenCalled();
  expect(await within({}, (deadline, retries) => manager.current(deadline, retries))).toBe("first");
  expect(load).toHaveBeenCalledOnce();
});

it("hands everything on to what it has loaded, which preload loads at once", async () => {
  const calls: unknown[][] = [];
  const TokenManager = class {};
  for (const name of ["begin", "renew", "refused", "accepted", "hold", "endSession", "close"]) {
    Object.assign(TokenManager.prototype, { [name]: (...given: unknown[]) => calls.push([name, ...given]) });
  }
  vi.doMock(file, () => ({ TokenManager }));
  const loadLogin = vi.fn(() => ({}));
  vi.doMock("../../src/auth/openid-grant.js", loadLogin);
  onTestFinished(() => vi.doUnmock("../../src/auth/openid-grant.js"));
  const manager = await lateManager(new FakeTokenEndpoint());
  expect(manager.hold()).toBeUndefined();
  await manager.close();
  manager.preload();
  await eventually(() => expect([manager.hold(), loadLogin.mock.calls.length]).toEqual([expect.any(Number), 1]));
  calls.length = 0;
  const [granted, deadline] = [{}, {}] as never[];
  await manager.begin(granted as never);
  await manager.renew("used", deadline as never, 2);
  manager.refused("refused");
  manager.accepted("accepted");
  manager.hold();
  await manager.endSession();
  await manager.close();
  expect(calls).toEqual([
    ...[
      ["begin", granted],
      ["renew", "used", deadline, 2],
    ],
    ...[["refused", "refused"], ["accepted", "accepted"], ["hold"], ["endSession"], ["close"]],
  ]);
});

it("has the token at once when a call has requested it", async () => {
  const manager = await lateManager(new FakeTokenEndpoint(granted("first")));
  await within({}, (deadline, retries) => manager.current(deadline, retries));
  await within({}, (deadline, retries) => {
    expect(manager.current(deadline, retries)).toBe("first");
  });
});

it("makes one request for calls that come while it is being loaded", async () => {
  const fake = new FakeTokenEndpoint(granted("first"));
  const manager = await lateManager(fake);
  manager.preload();
  const calls = [1, 2, 3].map(() => within({}, (deadline, retries) => manager.current(deadline, retries)));
  expect(await Promise.all(calls)).toEqual(["first", "first", "first"]);
  expect(fake.requests).toHaveLength(1);
});

it("says so where its file can't be loaded, requests nothing, and tries again with the next call", async () => {
  let isThere = false;
  vi.doMock(file, (original: () => Promise<object>) => {
    if (isThere) return original();
    throw new Error("Failed to fetch dynamically imported module");
  });
  const fake = new FakeTokenEndpoint(granted("first"));
  const manager = await lateManager(fake);
  const call = () => within({}, (deadline, retries) => manager.current(deadline, retries));
  manager.preload();
  await expect(call()).rejects.toMatchObject({
    name: "TokenError",
    code: "token_request_failed",
    effect: "none",
    message: expect.stringMatching(/^what requests tokens can't be loaded, so nothing was requested;/),
  });
  await manager.close();
  expect(fake.requests).toHaveLength(0);
  isThere = true;
  vi.doUnmock(file);
  expect(await call()).toBe("first");
});

it("ends a session that it was given before any call", async () => {
  const fake = new FakeTokenEndpoint(responded(204, ""));
  const { LateTokenManager } = await import("../../src/auth/late-token-manager.js");
  const { authUrl, realm, clientId } = auth;
  const refreshToken = crypto.randomUUID();
  const manager = new LateTokenManager({ auth: { authUrl, realm, clientId, refreshToken }, transport: fake });
  expect(await manager.endSession()).toBeUndefined();
  expect(fake.forms).toMatchObject([{ refresh_token: refreshToken }]);
});

it("sends nothing when it is closed before any call", async () => {
  const fake = new FakeTokenEndpoint();
  const { LateTokenManager } = await import("../../src/auth/late-token-manager.js");
  const manager = new LateTokenManager({ auth: { ...auth, endSessionOnClose: true }, transport: fake });
  await manager.close();
  expect(fake.requests).toHaveLength(0);
});

it("keeps the credentials that it was made with", async () => {
  const fake = new FakeTokenEndpoint(granted("first"));
  const { LateTokenManager } = await import("../../src/auth/late-token-manager.js");
  const own = { ...auth };
  const manager = new LateTokenManager({ auth: own, transport: fake });
  own.username = "somebody else";
  await within({}, (deadline, retries) => manager.current(deadline, retries));
  expect(fake.forms).toMatchObject([{ username: auth.username }]);
});
