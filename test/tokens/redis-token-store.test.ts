import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createClient } from "@redis/client";
import { ConfigError } from "cross-border-payments";
import { verifyTokenStore } from "cross-border-payments/testing";
import { RedisTokenStore, type RedisTokenStoreOptions } from "cross-border-payments/tokens/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

const url = process.env.CBP_REDIS_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_REDIS_URL is not set, see test/support/redis.sh)" : "";
if (skipped !== "") process.stdout.write(`RedisTokenStore is tested with a server only${skipped}\n`);

const encryptionKey = randomBytes(32);

it.each([
  [{ redis: undefined }, "redis must be a client of node-redis or ioredis; got undefined"],
  [{ redis: {} }, "redis must be a client of node-redis or ioredis; got an object"],
  [{ redis: "redis://user:hunter2@host" }, "redis must be a client of node-redis or ioredis; got a string"],
  [{ prefix: 7 }, "prefix must be a string; got 7"],
  [{ encryptionKey: "hunter2" }, "encryptionKey must be 32 random bytes"],
])("refuses an option that is not what is described (case %#)", (options, message) => {
  const redis = { eval: async () => null };
  const given = { redis, encryptionKey, ...options } as unknown as RedisTokenStoreOptions;
  const refused = expect(() => new RedisTokenStore(given));
  refused.toThrow(ConfigError);
  refused.toThrow(`RedisTokenStore: ${message}`);
});

it.each([
  ["NOPERM this user has no permissions to run the 'eval' command", "NOPERM"],
  ["READONLY", undefined],
  ["connect ECONNREFUSED 127.0.0.1:6379", undefined],
])("takes the word that Redis refuses with for the error's code, and no other: %s", async (message, code) => {
  const error = new Error(message);
  const store = new RedisTokenStore({ redis: { eval: () => Promise.reject(error) }, encryptionKey });
  const thrown: unknown = await store.read("key").catch((reason: unknown) => reason);
  expect(thrown).toMatchObject(code === undefined ? error : { code, cause: error });
  expect(Reflect.get(Object(thrown), "code")).toBe(code);
});

describe.skipIf(url === "")(`with a server${skipped}`, () => {
  const nodeRedis = createClient({ url });
  const ioRedis = url === "" ? undefined : new Redis(url);
  beforeAll(async () => {
    await nodeRedis.connect();
  });
  afterAll(async () => {
    await nodeRedis.close();
    await ioRedis?.quit();
  });
  const storeOf = (options: Partial<RedisTokenStoreOptions> = {}) =>
    new RedisTokenStore({ redis: ioRedis ?? nodeRedis, encryptionKey, ...options });

  it("keeps every law with node-redis, with ioredis, and between both", async () => {
    for (const redis of [nodeRedis, ioRedis ?? nodeRedis]) {
      const second = storeOf();
      await verifyTokenStore(storeOf({ redis }), { second, shortMs: 1000 });
    }
  });

  it("keeps every law for a user with the rights that the guide names, and tells of one that is missing", async () => {
    const guide = await readFile("docs/fleet.md", "utf8");
    const [, rights = ""] = /`~cross-border-tokens:\*((?: \+\w+)+)`/.exec(guide) ?? [];
    const [username, password] = [randomUUID(), randomUUID()];
    const permitted = ["on", `>${password}`, "~cross-border-tokens:*", ...rights.trim().split(" ")];
    await nodeRedis.aclSetUser(username, permitted);
    const { href } = Object.assign(new URL(url), { username, password });
    const own = await createClient({ url: href }).connect();
    const ownIo = new Redis(href, { enableReadyCheck: false });
    onTestFinished(async () => {
      ownIo.disconnect();
      own.destroy();
      await nodeRedis.aclDelUser(username);
    });
    for (const redis of [own, ownIo]) await verifyTokenStore(storeOf({ redis }), { shortMs: 1000 });
    await nodeRedis.aclSetUser(username, ["-eval"]);
    for (const redis of [own, ownIo]) {
      await expect(storeOf({ redis }).read("key")).rejects.toMatchObject({ code: "NOPERM" });
    }
  });

  it("leaves nothing behind for good", async () => {
    const key = randomUUID();
    await storeOf().write(key, "value", 60_000, undefined);
    await storeOf().lock(key, "owner", 15_000);
    expect(await nodeRedis.pTTL(`cross-border-tokens:${key}`)).toBeGreaterThan(50_000);
    expect(await nodeRedis.pTTL(`cross-border-tokens:${key}:lock`)).toBeGreaterThan(10_000);
    expect(await nodeRedis.pTTL(`cross-border-tokens:${key}:lock`)).toBeLessThanOrEqual(15_000);
  });
});
