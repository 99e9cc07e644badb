import { afterEach, expect, it, vi } from "vitest";
import type { PasswordAuth, SessionAuth } from "../../src/auth/auth-options.js";
import { StoreEntry } from "../../src/auth/store-entry.js";
import type { TokenStore } from "../../src/auth/token-store.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";
import { auth, handled, pass } from "./manager-fixture.js";

afterEach(() => {
  vi.useRealTimers();
});

/** An entry of a store that does what it should but for these methods. */
function entryOf(
  methods: Readonly<Record<string, unknown>>,
  credentials: PasswordAuth | SessionAuth = auth,
): StoreEntry {
  return new StoreEntry(Object.assign(new MemoryTokenStore(), methods) satisfies TokenStore, credentials);
}

/** Where the session of these credentials lies. */
async function keyOf(credentials: PasswordAuth | SessionAuth): Promise<string> {
  const read = vi.fn(async (_key: string) => undefined);
  await entryOf({ read }, credentials).read();
  return String(read.mock.calls[0]?.[0]);
}

const realm = { authUrl: "https://id.example/base", realm: "payments", clientId: "gateway" };
const user = { ...realm, username: "bank", password: "p" };
const session = { ...realm, refreshToken: "t" };

it("finds a session that a process of another release has stored", async () => {
  expect(await keyOf(user)).toBe("b58bd41c32cd686cfd68082f8778055849f7756f86bd525ce7e51c08be9eda33");
  expect(await keyOf(session)).toBe("d1ae23ef5ec8b5da1e2a24a064ad1d66d3f65e7940ec432324a8aea05906ef24");
});

it("takes a value that is longer than any session for nothing, and stores none", async () => {
  const store = new MemoryTokenStore();
  const entry = new StoreEntry(store, user);
  const key = await keyOf(user);
  const session = { v: 1, refreshToken: "t", accessToken: "a" };
  const tooLong = JSON.stringify({ ...session, padding: " ".repeat(2 ** 18) });
  await store.write(key, tooLong, 60_000, undefined);
  const found = await entry.read();
  expect(found?.value).toEqual({});
  const write = vi.spyOn(store, "write");
  expect(await entry.write({ refreshToken: "t".repeat(2 ** 18) }, found?.version)).toBeUndefined();
  expect(write).not.toHaveBeenCalled();
  await entry.write({ refreshToken: "t" }, found?.version);
  expect((await entry.read())?.value).toEqual({ refreshToken: "t" });
});

it.each([
  ["user", { ...user, username: "other" }],
  ["client", { ...user, clientId: "other" }],
  ["realm", { ...user, realm: "other" }],
  ["identity provider", { ...user, authUrl: "https://other.example/base" }],
  ["session", session],
  ["session of the same client", { ...session, refreshToken: "other" }],
])("keeps the session of another %s apart", async (_, other) => {
  expect(await keyOf(other)).not.toBe(await keyOf(user));
  if (other !== session) expect(await keyOf(other)).not.toBe(await keyOf(session));
});

it("has one session of a user, whichever password and secret a process logs in with", async () => {
  expect(await keyOf({ ...user, password: "other", clientSecret: "s" })).toBe(await keyOf(user));
});

it.each([undefined, null])("has nothing where the store reads %j", async (stored) => {
  expect(await entryOf({ read: async () => stored }).read()).toBeUndefined();
});

it.each([{ value: 7, version: "1" }, { value: undefined, version: "1" }, { value: "{}", version: 1 }, { value: "{}" }])(
  "counts a store that reads %j as away",
  async (stored) => {
    await expect(entryOf({ read: async () => stored }).read()).rejects.toMatchObject({ reason: "NOT_A_STORED_TOKEN" });
  },
);

it.each([
  ["a code", Object.assign(new Error("canary"), { code: "ECONNREFUSED" }), "ECONNREFUSED"],
  ["no code", new TypeError("canary"), "TypeError"],
  ["a text", "canary", "UNKNOWN"],
])("tells why a store is away, and no more: it throws %s", async (_, thrown, reason) => {
  for (const read of [() => Promise.reject(thrown), () => raise(thrown)]) {
    await expect(entryOf({ read }).read()).rejects.toMatchObject({ reason, message: reason });
  }
});

function raise(thrown: unknown): never {
  throw thrown;
}

it("counts a store that does not answer as away after 2 s", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const reading = handled(entryOf({ read: () => new Promise(() => {}) }).read());
  await pass(2000);
  await expect(reading).rejects.toMatchObject({ reason: "TIMEOUT" });
});

it("leaves no timer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  await entryOf({}).read();
  expect(vi.getTimerCount()).toBe(0);
});

it.each([undefined, null, 0, false])("has no lock where the store says %j", async (said) => {
  expect(await entryOf({ lock: async () => said }).lock("owner", 1000)).toBe(false);
});

it.each(["true", "OK", 1])("counts a store that says %j of a lock as away", async (said) => {
  const locking = entryOf({ lock: async () => said }).lock("owner", 1000);
  await expect(locking).rejects.toMatchObject({ reason: "NOT_A_BOOLEAN" });
});

it.each([undefined, "true", 1, false])("has stored nothing where the store says %j", async (said) => {
  const entry = entryOf({ write: async () => said });
  expect(await entry.write({ accessToken: "t" }, undefined)).toBeUndefined();
});
