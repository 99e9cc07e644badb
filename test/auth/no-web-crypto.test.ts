import { afterEach, expect, it, vi } from "vitest";
import { FakeTokenEndpoint, granted, refusal } from "./fake-token-endpoint.js";
import { auth, within } from "./manager-fixture.js";

afterEach(() => {
  vi.doUnmock("#platform");
  vi.resetModules();
});

it("is no obstacle for a client alone: a page that was loaded over http can't hash", async () => {
  vi.resetModules();
  vi.doMock("#platform", async (original) => ({
    ...(await original<typeof import("../../src/platform/platform.js")>()),
    sha256: () => Promise.reject(new Error("there is no crypto.subtle")),
  }));
  const { TokenManager } = await import("../../src/auth/token-manager.js");
  const managerOf = (fake: FakeTokenEndpoint) => {
    const manager = new TokenManager({ auth, transport: fake });
    return () => within({}, (deadline) => manager.current(deadline, 0));
  };
  const fake = new FakeTokenEndpoint(granted("a", { expires_in: 0 }), granted("b"));
  const call = managerOf(fake);
  expect([await call(), await call()]).toEqual(["a", "b"]);
  expect(fake.grants).toEqual(["password", "refresh_token"]);
  await expect(managerOf(new FakeTokenEndpoint(refusal(401)))()).rejects.toMatchObject({ code: "login_refused" });
});
